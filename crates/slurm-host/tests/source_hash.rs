//! Tests of the hash that names a build.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

#[path = "../build/source_hash.rs"]
mod source_hash;

use std::fs;
use std::path::{Path, PathBuf};

/// Makes a folder of this name with these files. Each call needs a name of its own.
fn tree(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn hash(folder: PathBuf) -> u64 {
    source_hash::of(&[folder], "0.1.0").unwrap()
}

#[test]
fn the_folder_of_the_sources_does_not_change_the_hash() {
    let files = [("lib.rs", "mod job;"), ("job/change.rs", "struct Job;")];
    let turned = [files[1], files[0]];
    let here = hash(tree("here", &files));
    assert_eq!(here, hash(tree("elsewhere", &turned)));
    assert_eq!(here, hash(tree("edited", &[files[0], files[1], (".lib.rs.swp", "mod")])), "an editor's file");
}

#[test]
fn each_file_and_the_version_change_the_hash() {
    let files = [("job.rs", "struct RawTest(u32);"), ("job/change.rs", "struct Job;")];
    let before = hash(tree("before", &files));
    assert_ne!(
        before,
        hash(tree("changed", &[files[0], ("job/change.rs", "struct Job(u8);")])),
        "a nested file"
    );
    assert_ne!(before, hash(tree("fewer", &files[..1])), "a file that is missing");
    let moved = [("job.rs", "struct RawTest(u32);struct"), ("job/change.rs", " Job;")];
    assert_ne!(before, hash(tree("moved", &moved)), "a word that moved to another file");
    assert_ne!(before, source_hash::of(&[tree("version", &files)], "0.1.1").unwrap(), "the version");
}

#[test]
fn a_missing_source_is_an_error() {
    assert!(source_hash::of(&[PathBuf::from("/nowhere/src")], "0.1.0").is_err());
}
