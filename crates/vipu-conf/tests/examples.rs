//! The example files in conf/ at the top of the tree.
#![allow(clippy::unwrap_used, reason = "the helpers of a test may fail by panicking, too")]

use std::fs;
use std::path::{Path, PathBuf};

use vipu_conf::{Settings, load};
use vipu_types::ModelName;

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folders in conf/.
fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(tree().join("conf")).unwrap();
    let folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    assert!(!folders.is_empty());
    folders
}

#[test]
fn every_example_file_can_be_read() {
    for folder in folders() {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.ends_with(".conf") && !["slurm.conf", "gres.conf", "plugstack.conf"].contains(&name) {
                let read = Settings::parse(&fs::read_to_string(&path).unwrap(), &path);
                assert!(read.is_ok(), "{}", read.unwrap_err());
            }
        }
    }
}

#[test]
fn every_model_on_the_nodes_has_settings() {
    for folder in folders() {
        let slurm_conf = fs::read_to_string(folder.join("slurm.conf")).unwrap();
        let models = slurm_conf.split("Gres=vipu:").skip(1).filter_map(|rest| rest.split(':').next());
        let models: Vec<_> = models.map(|name| ModelName::new(name).unwrap()).collect();
        assert!(!models.is_empty(), "{}", folder.display());
        for (model, read) in load(&folder, &models) {
            assert!(read.is_ok(), "{model}: {}", read.unwrap_err());
        }
    }
}

#[test]
fn the_page_about_installing_points_to_every_folder() {
    let page = fs::read_to_string(tree().join("docs/installing.md")).unwrap();
    for folder in folders() {
        let link = format!("(../conf/{})", folder.file_name().unwrap().to_str().unwrap());
        assert!(page.contains(&link), "docs/installing.md has no {link}");
    }
}
