//! The facts about the IPUs of a step that its container needs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use ipuof::variables::{API_PARTITION_ID, CONFIG_PATH, is_for_programs};
use nix::sys::stat::{major, minor};

/// The directory of the RDMA devices.
pub(crate) const RDMA: &str = "/dev/infiniband";

/// What the container of a step gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ipus {
    /// The variables of the step that are about its IPUs.
    pub(crate) variables: BTreeMap<String, String>,
    /// The directory of the IPUoF file, if the step has one.
    pub(crate) directory: Option<PathBuf>,
    /// The RDMA devices of the node, as major and minor numbers.
    pub(crate) rdma: Vec<(u64, u64)>,
}

impl Ipus {
    /// The IPUs of the step that has this environment. None if it has no IPUs.
    pub(crate) fn of_environment(environment: impl Iterator<Item = (OsString, OsString)>) -> Option<Self> {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let variables: BTreeMap<_, _> =
            environment.filter_map(text).filter(|(name, _)| is_for_programs(name)).collect();
        let file = variables.get(CONFIG_PATH);
        if file.is_none() && !variables.contains_key(API_PARTITION_ID) {
            return None;
        }
        let directory = file.and_then(|file| Path::new(file).parent()).map(Path::to_owned);
        Some(Self { directory, rdma: devices(Path::new(RDMA)), variables })
    }
}

/// The numbers of the character devices in a directory. None if there is no such directory.
fn devices(directory: &Path) -> Vec<(u64, u64)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let devices =
        entries.filter_map(|entry| entry.metadata().ok()).filter(|it| it.file_type().is_char_device());
    devices.map(|it| (major(it.rdev()), minor(it.rdev()))).collect()
}
