use std::{collections::BTreeSet, env, fs};

use testbed::programs;

use super::contents::{File, PACKAGES};
use super::{Release, deb, glibc, rpm};
use crate::run;

const RELEASE: Release = Release { version: "1.2.3", time: 0 };

#[test]
fn pkg_files_are_in_the_tree_and_in_one_package() {
    let mut places = BTreeSet::new();
    for file in PACKAGES.iter().flat_map(|package| package.files) {
        let (source, place) = match file {
            File::Text(from, to) => (Some(*from), *to),
            File::Examples(folder) => (Some(*folder), *folder),
            File::Plugin(name) | File::Helper(name) | File::Program(name) => (None, *name),
            File::ManualAndCompletions => (None, "man"),
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
fn pkg_the_glibc_that_an_object_needs_is_read_from_it() {
    let own = fs::read(env::current_exe().unwrap()).unwrap();
    let versions = glibc::versions(&own).unwrap();
    assert!(versions.iter().any(|version| version == "2.2.5"), "{versions:?}");
    assert!(glibc::number("2.10") > glibc::number("2.9"));
    assert!(glibc::number("2.28.1") > glibc::number(glibc::NEWEST));
}
