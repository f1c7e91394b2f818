//! The check that no object needs a newer glibc than the oldest supported system has.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use object::read::elf::ElfFile64;
use testbed::say;

/// The glibc of RHEL 8 and Debian 10.
pub const NEWEST: &str = "2.28";

/// Checks all objects and programs in a folder.
pub fn check(folder: &Path) -> Result<()> {
    let mut checked = 0;
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        if !file.is_file() {
            continue;
        }
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        if !bytes.starts_with(b"\x7fELF") {
            continue;
        }
        let versions = versions(&bytes).with_context(|| file.display().to_string())?;
        let newer: Vec<_> = versions.iter().filter(|version| number(version) > number(NEWEST)).collect();
        ensure!(newer.is_empty(), "{} needs glibc {newer:?}, newer than {NEWEST}", file.display());
        checked += 1;
    }
    ensure!(checked > 0, "{} has no object", folder.display());
    say(format!("{checked} objects need nothing above glibc {NEWEST}"));
    Ok(())
}

/// The versions of glibc whose symbols an object needs, as `2.17`.
pub fn versions(bytes: &[u8]) -> Result<Vec<String>> {
    let file = ElfFile64::<object::LittleEndian>::parse(bytes)?;
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let Some((needs, strings)) = sections.gnu_verneed(endian, bytes)? else { return Ok(Vec::new()) };
    let strings = sections.strings(endian, bytes, strings)?;
    let mut versions = Vec::new();
    for need in needs {
        for version in need?.1 {
            let name = version?.name(endian, strings)?;
            let name = String::from_utf8_lossy(name);
            versions.extend(name.strip_prefix("GLIBC_").map(str::to_owned));
        }
    }
    Ok(versions)
}

/// A version in the order of versions.
pub fn number(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}
