use std::fs;

use vipu_types::{Device, IpuCount};

use super::*;
use crate::test_claim;

fn claim(size: u64) -> Claim {
    Claim { user: own_uid(), size: IpuCount::new(size).unwrap(), ..test_claim::claim(1) }
}

/// The user of the test process. Giving a file to oneself needs no privilege.
fn own_uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    tempfile::tempfile().unwrap().metadata().unwrap().uid()
}

fn gcds(count: usize) -> Vec<Gcd> {
    vec![Gcd { devices: vec![Device::default()], ..Gcd::default() }; count]
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Files without a memory.
fn files() -> IpuofFiles {
    IpuofFiles::new("a", None, [])
}

#[tokio::test]
async fn all_files_of_a_partition_go_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    files().probe(dir.path()).await.unwrap();
    for others in ["slurm_10.conf", "slurm_1_gcd.conf", "slurm_1x_gcd0.conf"] {
        fs::write(dir.path().join(others), "").unwrap();
    }
    let before = names(dir.path());
    for (size, count) in [(1, 1), (64, 1), (256, 4), (16, 16)] {
        let files = files();
        files.deliver(dir.path(), &claim(size), gcds(count)).await.unwrap();
        assert_eq!(names(dir.path()).len(), before.len() + count);
        files.flush(dir.path(), &claim(size)).await.unwrap();
        files.withdraw(dir.path(), &claim(size)).await.unwrap();
        assert_eq!(names(dir.path()), before, "{size} IPUs, {count} GCDs");
    }
}

#[tokio::test]
async fn a_flush_misses_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let files = files();
    files.deliver(dir.path(), &claim(1), gcds(1)).await.unwrap();
    fs::remove_file(dir.path().join("slurm_1.conf")).unwrap();
    let error = files.flush(dir.path(), &claim(1)).await.unwrap_err().to_string();
    assert!(error.contains("slurm_1.conf"), "{error}");
}

#[tokio::test]
async fn a_failed_delivery_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    // A directory takes the name of the third file.
    fs::create_dir(dir.path().join("slurm_1_gcd2.conf")).unwrap();
    let error = files().deliver(dir.path(), &claim(4), gcds(4)).await.unwrap_err().to_string();
    assert!(error.contains("slurm_1_gcd2.conf"), "{error}");
    assert_eq!(names(dir.path()), [".vipu_a", "slurm_1_gcd2.conf"]);
    assert_eq!(files().withdraw(&dir.path().join("missing"), &claim(4)).await, Ok(()));
}
