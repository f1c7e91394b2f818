//! The texts that are kept for a later process.
#![allow(clippy::unwrap_used, reason = "the helpers of a test may fail by panicking, too")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use vipu_conf::SavedConf;
use vipu_types::ModelName;

const TEXT: &str = "ApiHost=first IpuofDir=/x # as it was\n";

fn pod64() -> ModelName {
    ModelName::new("pod64").unwrap()
}

/// The names in a directory.
fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_kept_text_is_found_and_only_its_owner_can_read_it() {
    let dir = tempfile::tempdir().unwrap();
    let kept = SavedConf::in_dir(dir.path());
    assert!(kept.good(&pod64()).unwrap().is_none());
    kept.keep(&pod64(), TEXT, None).unwrap();
    assert_eq!(kept.good(&pod64()).unwrap().unwrap().settings.controllers[0].host(), "first");
    assert_eq!(names(dir.path()), ["vipu_conf.pod64"]);
    let file = dir.path().join("vipu_conf.pod64");
    assert_eq!(fs::read_to_string(&file).unwrap(), TEXT);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn only_a_text_that_changed_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let kept = SavedConf::in_dir(dir.path());
    let written = |text: &str| {
        kept.keep(&pod64(), text, None).unwrap();
        // A rename puts another file there. The old one is held open, so that its inode number is not used
        // again.
        fs::File::open(dir.path().join("vipu_conf.pod64")).unwrap()
    };
    let files = [written(TEXT), written(TEXT), written("ApiHost=second IpuofDir=/x")];
    let [first, same, second] = files.each_ref().map(|file| file.metadata().unwrap().ino());
    assert_eq!(first, same);
    assert_ne!(first, second);
    assert_eq!(kept.good(&pod64()).unwrap().unwrap().settings.controllers[0].host(), "second");
}

#[test]
fn a_leftover_of_a_crash_does_not_stop_a_write() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(format!("vipu_conf.pod64.new.{}", std::process::id())), "ApiHost=half of a lo")
        .unwrap();
    let kept = SavedConf::in_dir(dir.path());
    kept.keep(&pod64(), TEXT, None).unwrap();
    assert_eq!(names(dir.path()), ["vipu_conf.pod64"]);
    assert_eq!(fs::read_to_string(dir.path().join("vipu_conf.pod64")).unwrap(), TEXT);
}

#[test]
fn an_unusable_text_is_told_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (kept, file) = (SavedConf::in_dir(dir.path()), dir.path().join("vipu_conf.pod64"));
    fs::write(&file, "ApiHost=x\nKeyOfALaterRelease=1\n").unwrap();
    let error = kept.good(&pod64()).unwrap_err().one_line();
    assert!(error.starts_with("vipu_conf.pod64:2: unknown key"), "{error}");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let error = kept.good(&pod64()).unwrap_err().one_line();
    assert!(error.ends_with("vipu_conf.pod64: it is no regular file"), "{error}");
    let error = kept.keep(&pod64(), TEXT, None).unwrap_err().to_string();
    assert!(error.contains(&format!("cannot write {}: ", file.display())), "{error}");
}
