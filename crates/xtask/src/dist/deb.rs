//! Debian packages, made by dpkg-deb.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use anyhow::Result;

use super::contents::{MAINTAINER, Package};
use super::{Release, glibc, scripts, staging};
use crate::run;

/// Makes the package of a staged tree.
pub fn make(package: &Package, release: &Release, tree: &Path, out: &Path) -> Result<()> {
    let control = tree.join("DEBIAN");
    fs::create_dir_all(&control)?;
    fs::write(control.join("control"), fields(package, release))?;
    let is = |rest: &str| format!("[ \"$1\" = configure ] && [ {rest} \"$2\" ]");
    let postinst = scripts::after_install(package, &is("-z"), &is("-n"));
    let prerm = scripts::before_removal(package, "[ \"$1\" = remove ]");
    for (name, script) in [("postinst", Some(postinst)), ("prerm", prerm)] {
        let Some(script) = script else { continue };
        fs::write(control.join(name), format!("#!/bin/sh\nset -e\n{script}"))?;
        fs::set_permissions(control.join(name), fs::Permissions::from_mode(0o755))?;
    }
    let doc = tree.join("usr/share/doc").join(package.name);
    fs::write(doc.join("copyright"), COPYRIGHT)?;
    fs::write(doc.join("changelog"), changelog(package, release)?)?;
    staging::gzip(&doc.join("changelog"))?;
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "-Zxz", &format!("-z{}", release.compression), "--build"]).arg(tree);
    dpkg.arg(out.join(format!("{}_{}_amd64.deb", package.name, release.version)));
    dpkg.env("SOURCE_DATE_EPOCH", release.time.to_string());
    run::visibly(dpkg)
}

pub fn fields(package: &Package, release: &Release) -> String {
    let Package { name, summary, description, .. } = package;
    let version = release.version;
    let needs: String = package.needs.iter().map(|needed| format!(", {needed} (= {version})")).collect();
    format!(
        "Package: {name}\nVersion: {version}\nArchitecture: amd64\nSection: admin\nPriority: optional\n\
         Maintainer: {MAINTAINER}\n\
         Depends: libc6 (>= {}){needs}\n\
         Description: {summary}\n{}\n",
        glibc::NEWEST,
        textwrap::indent(&textwrap::fill(description, 78), " ")
    )
}

/// Debian's form of a changelog. The entries for sites are in CHANGELOG.md.
fn changelog(package: &Package, release: &Release) -> Result<String> {
    let (name, version, date) = (package.name, release.version, release.date("%a, %d %b %Y %T +0000")?);
    Ok(format!(
        "{name} ({version}) unstable; urgency=medium\n\n  * The changes are in CHANGELOG.md.\n\n -- {MAINTAINER}  {date}\n"
    ))
}

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: slurm-vipu

Files: *
Copyright: 2026 the slurm-vipu project
License: GPL-2.0-or-later and (MIT or Apache-2.0)
 LICENSING.md in this folder says which part has which licence. The texts are beside it.
 On Debian systems those of the GPL version 2 and of the Apache License version 2.0 are also in
 /usr/share/common-licenses/GPL-2 and /usr/share/common-licenses/Apache-2.0.
";
