use std::{collections::BTreeSet, env, fs, os::unix::fs::PermissionsExt};

use testbed::programs;

use super::contents::{File, LOGIN, PACKAGES, Package};
use super::staging::{Family, Parts};
use super::{Release, deb, earlier_packages, glibc, licences, linked, rpm, sbom, staging};
use crate::run;

const RELEASE: Release = Release { version: "1.2.3", time: 0, compression: 0 };

#[test]
fn pkg_files_are_in_the_tree_and_in_one_package() {
    let mut places = BTreeSet::new();
    for file in PACKAGES.iter().flat_map(|package| package.files) {
        let (source, place) = match file {
            File::Text(from, to) => (Some(*from), *to),
            File::Examples(folder) => (Some(*folder), *folder),
            File::Plugin(name) | File::Helper(name) | File::Program(name, _) => (None, *name),
            File::Completions(_) => continue,
        };
        assert!(places.insert(place), "{place} is in two packages");
        assert!(source.is_none_or(|source| run::workspace().join(source).exists()), "{source:?} is missing");
    }
}

#[test]
fn pkg_all_plugins_are_in_packages() {
    let in_packages = |name: &str| {
        let is_it = |file: &File| matches!(file, File::Plugin(own) if *own == name);
        PACKAGES.iter().any(|package| package.files.iter().any(is_it))
    };
    for plugin in programs::PLUGINS {
        assert!(in_packages(plugin.trim_end_matches(".so")), "{plugin}");
    }
}

#[test]
fn pkg_examples_keep_their_folders_and_programs() {
    const EXAMPLES: Package = Package { files: &[File::Examples("packages/site")], ..LOGIN };
    let (tree, empty) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let parts = Parts { built: empty.path().into(), documents: empty.path().into() };
    staging::stage(&EXAMPLES, Family::Any, &parts, tree.path()).unwrap();
    let examples = tree.path().join("usr/share/doc").join(EXAMPLES.name).join("examples/site");
    let mode = |name: &str| fs::metadata(examples.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("ondemand/template/script.sh"), 0o755);
    assert_eq!(mode("ansible/roles/slurm_vipu/tasks/main.yml"), 0o644);
}

#[test]
fn pkg_packages_need_each_other_in_one_version() {
    let names: Vec<_> = PACKAGES.iter().map(|package| package.name).collect();
    for package in PACKAGES {
        let fields = deb::fields(package, &RELEASE);
        let spec = rpm::spec(package, &RELEASE, &["/usr/bin/x".into()]).unwrap();
        for needed in package.needs {
            assert!(names.contains(needed), "{needed}");
            assert!(fields.contains(&format!(", {needed} (= 1.2.3)")), "{fields}");
            assert!(spec.contains(&format!("\nRequires: {needed} = 1.2.3\n")), "{spec}");
        }
        let long = fields.lines().find(|line| line.len() > 80 && !line.starts_with("Depends"));
        assert_eq!(long, None);
    }
}

#[test]
fn pkg_new_packages_replace_packages_and_nothing_else() {
    let out = tempfile::tempdir().unwrap();
    assert!(earlier_packages(&out.path().join("missing")).unwrap().is_empty());
    for name in ["SHA256SUMS", "slurm-vipu-mock_0.1.0_amd64.deb"] {
        fs::write(out.path().join(name), "").unwrap();
    }
    assert_eq!(earlier_packages(out.path()).unwrap().len(), 2);
    // As a checkout beside the packages.
    fs::create_dir(out.path().join("slurm-vipu-main")).unwrap();
    let refused = earlier_packages(out.path()).unwrap_err().to_string();
    assert!(refused.contains("has slurm-vipu-main, which is no package"), "{refused}");
}

#[test]
fn pkg_the_glibc_that_an_object_needs_is_read_from_it() {
    let own = fs::read(env::current_exe().unwrap()).unwrap();
    let versions = glibc::versions(&own).unwrap();
    assert!(versions.iter().any(|version| version == "2.2.5"), "{versions:?}");
    assert!(glibc::number("2.10") > glibc::number("2.9"));
    assert!(glibc::number("2.28.1") > glibc::number(glibc::NEWEST));
}

#[test]
fn pkg_the_bill_of_materials_lists_what_is_linked_and_nothing_else() {
    let crates = linked::crates().unwrap();
    let bill: serde_json::Value = serde_json::from_str(&sbom::document(&RELEASE, &crates).unwrap()).unwrap();
    assert_eq!(bill["metadata"]["timestamp"], "1970-01-01T00:00:00Z");
    let components = bill["components"].as_array().unwrap();
    let component = |name: &str| components.iter().find(|component| component["name"] == name);
    let tonic = component("tonic").unwrap();
    assert!(tonic["purl"].as_str().unwrap().starts_with("pkg:cargo/tonic@"), "{tonic}");
    assert_eq!(tonic["licenses"][0]["expression"], "MIT");
    assert_eq!(tonic["hashes"][0]["content"].as_str().unwrap().len(), 64);
    let own = component("slurm-host").unwrap();
    assert_eq!(
        (own["licenses"][0]["expression"].as_str(), own.get("purl")),
        (Some("GPL-2.0-or-later"), None)
    );
    assert!(component("std").is_some());
    // A macro, the need of a build script, the need of a test.
    for name in ["serde_derive", "protox", "proptest"] {
        assert!(component(name).is_none(), "{name}");
    }
}

#[test]
fn pkg_each_licence_text_is_there_once_with_the_crates_that_ship_it() {
    let folder = tempfile::tempdir().unwrap();
    let one = |name: &str, text: Option<&str>| {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        if let Some(text) = text {
            fs::write(folder.join("LICENSE-MIT"), text).unwrap();
        }
        let (version, licence, checksum) = ("1.0.0".into(), "MIT".into(), Some("00".into()));
        linked::Crate { name: name.into(), version, licence, folder: Some(folder), checksum }
    };
    let crates = [one("a", Some("Permission\r\n")), one("b", None), one("c", Some("\nPermission"))];
    let document = licences::document(&crates).unwrap();
    assert_eq!(document.matches("\nPermission\n").count(), 1, "{document}");
    assert!(document.contains("\na 1.0.0, c 1.0.0\n"), "{document}");
    assert!(document.contains("\nb 1.0.0: MIT; it ships no text\n"), "{document}");
}
