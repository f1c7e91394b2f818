//! A number for the contents of files. Where they lie does not count, nor how they are compiled.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The number for `text` and for these files, and for all Rust files in these folders.
pub fn of(sources: &[PathBuf], text: &str) -> io::Result<u64> {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    let mut hash = fnv(text.as_bytes(), START);
    for source in sources {
        for file in files(source)? {
            let content = fs::read(file)?;
            // With the length, so that two files are not alike after a line moved from one to the next.
            hash = fnv(&content, fnv(&content.len().to_le_bytes(), hash));
        }
    }
    Ok(hash)
}

/// The file, or all Rust files in the folder, in an order that is the same everywhere.
fn files(source: &Path) -> io::Result<Vec<PathBuf>> {
    if !source.is_dir() {
        return Ok(vec![source.to_owned()]);
    }
    let mut entries = fs::read_dir(source)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    // An editor may leave files of its own there.
    entries.retain(|entry| entry.is_dir() || entry.extension().is_some_and(|extension| extension == "rs"));
    entries.sort();
    let nested = entries.iter().map(|entry| files(entry)).collect::<io::Result<Vec<_>>>()?;
    Ok(nested.concat())
}

/// FNV-1a.
fn fnv(bytes: &[u8], hash: u64) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
