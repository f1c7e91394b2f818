//! A number for the contents of files. It depends neither on their place nor on how they are compiled.

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
            // The length makes a difference if a line moves from one file to the next.
            hash = fnv(&content, fnv(&content.len().to_le_bytes(), hash));
        }
    }
    Ok(hash)
}

/// The file, or all Rust files in the folder, in a fixed order.
fn files(source: &Path) -> io::Result<Vec<PathBuf>> {
    if !source.is_dir() {
        return Ok(vec![source.to_owned()]);
    }
    let mut entries = fs::read_dir(source)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    // Editors may leave other files there.
    entries.retain(|entry| entry.is_dir() || entry.extension().is_some_and(|extension| extension == "rs"));
    entries.sort();
    let nested = entries.iter().map(|entry| files(entry)).collect::<io::Result<Vec<_>>>()?;
    Ok(nested.concat())
}

/// FNV-1a.
fn fnv(bytes: &[u8], hash: u64) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
