//! Slurm's configuration files on this host.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use slurm_conf::Files;

use crate::surroundings::Surroundings;

/// The greatest size of a file. The slurm.conf of a thousand nodes is a hundredth of it.
const MOST_BYTES: u64 = 16 << 20;

/// The files of this host.
pub(crate) struct SlurmFiles;

impl Files for SlurmFiles {
    fn read(&mut self, path: &Path) -> io::Result<String> {
        // The open of a FIFO would wait for a writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let mut text = Vec::new();
        File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut text)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(io::Error::other("it is larger than 16 MiB, so that it is no configuration file"));
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn matching(&mut self, pattern: &Path) -> Vec<PathBuf> {
        let paths = pattern.to_str().and_then(|pattern| glob::glob(pattern).ok());
        paths.into_iter().flatten().flatten().collect()
    }
}

/// The slurm.conf of this host, as Slurm's commands find it.
pub(crate) fn slurm_conf_path(surroundings: &Surroundings) -> PathBuf {
    let named = surroundings.variable("SLURM_CONF").map(PathBuf::from);
    named.unwrap_or_else(|| surroundings.etc.join("slurm/slurm.conf"))
}
