//! Reads a document from a file.

use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;

use crate::{MOST_BYTES, too_large};

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    // The open of a FIFO would wait for a writer.
    let flags = OFlag::O_NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(words)?;
    let facts = file.metadata().map_err(words)?;
    if !facts.is_file() {
        return Err("it is no regular file, so that it is no status document".to_owned());
    }
    let mut text = Vec::new();
    // The file may grow meanwhile, so that its size alone is no limit.
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut text).map_err(words)?;
    if text.len() > MOST_BYTES {
        return Err(too_large());
    }
    Ok(text)
}

fn words(why: Error) -> String {
    match why.kind() {
        ErrorKind::PermissionDenied => {
            format!("cannot read it: {why}; in StateSaveLocation only SlurmUser, its group and root may")
        }
        _ => format!("cannot read it: {why}"),
    }
}
