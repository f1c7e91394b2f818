//! Reads a document from a file.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;

use crate::{MOST_BYTES, too_large};

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let (file, _) = open(path).map_err(words)?;
    let mut text = Vec::new();
    // The file may grow meanwhile, so that its size alone is no limit.
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut text).map_err(words)?;
    if text.len() > MOST_BYTES {
        return Err(too_large());
    }
    Ok(text)
}

/// Opens a regular file.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), Error> {
    // The open of a FIFO would wait for a writer.
    let flags = OFlag::O_NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let facts = file.metadata()?;
    match facts.is_file() {
        true => Ok((file, facts)),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is no regular file")),
    }
}

fn words(why: Error) -> String {
    match why.kind() {
        ErrorKind::PermissionDenied => {
            format!("cannot read it: {why}; in StateSaveLocation only SlurmUser, its group and root may")
        }
        ErrorKind::InvalidInput => format!("{why}, so that it is no status document"),
        _ => format!("cannot read it: {why}"),
    }
}
