//! Packages for Red Hat's family, made by rpmbuild.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result};

use super::contents::{MAINTAINER, Package};
use super::staging::PLUGINS;
use super::{Release, scripts};
use crate::run;

/// Makes the package of a staged tree.
pub fn make(package: &Package, release: &Release, tree: &Path, work: &Path, out: &Path) -> Result<()> {
    let file = work.join(format!("{}.spec", package.name));
    fs::write(&file, spec(package, release, &files(tree, tree)?)?)?;
    let made = work.join("rpm");
    let mut rpmbuild = Command::new("rpmbuild");
    rpmbuild.args(["-bb", "--quiet", "--target", "x86_64-linux"]);
    rpmbuild.arg("--buildroot").arg(work.join("buildroot"));
    let definitions = [
        format!("_topdir {}", work.join("rpmbuild").display()),
        format!("_rpmdir {}", made.display()),
        format!("staged {}", tree.display()),
        "_build_id_links none".into(),
        "_buildhost slurm-vipu".into(),
        // The rpm of RHEL 8 reads it.
        format!("_binary_payload w{}.xzdio", release.compression),
        "use_source_date_epoch_as_buildtime 1".into(),
        "clamp_mtime_to_source_date_epoch 1".into(),
        "build_mtime_policy clamp_to_source_date_epoch".into(),
    ];
    for definition in definitions {
        rpmbuild.args(["--define", &definition]);
    }
    rpmbuild.arg(&file).env("SOURCE_DATE_EPOCH", release.time.to_string());
    run::visibly(rpmbuild)?;
    let name = format!("{}-{}-1.x86_64.rpm", package.name, release.version);
    let from = made.join("x86_64").join(&name);
    fs::copy(&from, out.join(&name)).with_context(|| from.display().to_string())?;
    Ok(())
}

/// All files in the tree as places on the system, in order, and the folders that go with the packages.
fn files(folder: &Path, tree: &Path) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let place = format!("/{}", path.strip_prefix(tree)?.display());
        if fs::symlink_metadata(&path)?.is_dir() {
            // Slurm's packages have no folder for drop-ins.
            let is_own =
                place.ends_with(".service.d") || place.split('/').any(|part| part.starts_with("slurm-vipu"));
            all.extend(is_own.then(|| format!("%dir {place}")));
            all.extend(files(&path, tree)?);
        } else {
            all.push(place);
        }
    }
    all.sort();
    Ok(all)
}

pub fn spec(package: &Package, release: &Release, files: &[String]) -> Result<String> {
    let Package { name, summary, description, .. } = package;
    let (version, description) = (release.version, textwrap::fill(description, 78));
    let needs: String =
        package.needs.iter().map(|needed| format!("Requires: {needed} = {version}\n")).collect();
    let post = scripts::after_install(package, "[ \"$1\" = 1 ]", "[ \"$1\" -gt 1 ]");
    let preun = scripts::before_removal(package, "[ \"$1\" = 0 ]");
    let preun = preun.map(|script| format!("%preun\n{script}\n")).unwrap_or_default();
    let date = release.date("%a %b %d %Y")?;
    Ok(format!(
        "Name: {name}\nVersion: {version}\nRelease: 1\nSummary: {summary}\n\
         Packager: {MAINTAINER}\nGroup: System Environment/Daemons\n\
         License: GPL-2.0-or-later AND (MIT OR Apache-2.0)\n{needs}\
         # Slurm loads the objects by path. They are no libraries for others.\n\
         %global __provides_exclude_from ^{PLUGINS}/\n\
         %global debug_package %{{nil}}\n%global __os_install_post %{{nil}}\n\n\
         %description\n{description}\n\n\
         %install\ncp -a %{{staged}}/. %{{buildroot}}/\n\n\
         %post\n{post}\n{preun}\
         %files\n%defattr(-,root,root)\n{}\n\n\
         %changelog\n* {date} {MAINTAINER} - {version}-1\n- The changes are in CHANGELOG.md.\n",
        files.join("\n")
    ))
}
