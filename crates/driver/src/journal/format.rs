//! The text of a journal: a header with the version, then one entry per line. Each line has the CRC-32 of its
//! JSON in hexadecimal, a space, and the JSON. Version 1 had the JSON alone.

use std::io::Write;

use serde::{Deserialize, Serialize};
use vipu_types::{ControllerName, ModelName};

use super::book::Book;
use super::entry::Entry;
use super::stored_entry::StoredEntry;

const JOURNAL: &str = "slurm-vipu";
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Header {
    journal: String,
    version: u32,
    /// The version of the slurm-vipu that began the file. The first ones did not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slurm_vipu: Option<String>,
}

/// The contents of a file.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub book: Book,
    /// The last line was cut short.
    pub torn: bool,
    /// Damage of the other lines, with one line for people on each.
    pub damage: Vec<String>,
    /// Claims without a known controller, with one line for people on each. They are lost.
    pub lost: Vec<String>,
}

/// Reads a whole file. `first` returns the first controller of a model, for claims that name none. Damaged
/// lines are skipped.
///
/// # Errors
/// If a newer version wrote the file. The error names the version.
pub(super) fn parse(
    text: &[u8],
    first: &impl Fn(&ModelName) -> Option<ControllerName>,
) -> Result<Read, String> {
    let mut read = Read::default();
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    if version(lines.next().map_or(&[], |(_, header)| header))?.is_none() {
        read.damage.push("line 1 is no header of a journal".into());
    }
    while let Some((index, line)) = lines.next() {
        let whole = line.ends_with(b"\n");
        match json_of(line).and_then(|json| Ok(serde_json::from_slice::<StoredEntry>(json)?)) {
            Ok(line) if whole => match line.entry(first) {
                Ok(entry) => read.book.apply(entry),
                Err(why) => read.lost.push(why),
            },
            _ if lines.peek().is_none() && !whole => read.torn = true,
            Ok(_) => {}
            Err(why) => read.damage.push(format!("line {}: {why}", index + 1)),
        }
    }
    Ok(read)
}

/// The version in the header of a journal, if it has one.
///
/// # Errors
/// If the version is newer than `VERSION`.
pub(super) fn version(text: &[u8]) -> Result<Option<u32>, String> {
    let header = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let said = json_of(header).ok().and_then(|json| serde_json::from_slice::<Header>(json).ok());
    // A header without a checksum is believed if it says version 1, and only then.
    let header = said.filter(|said| said.journal == JOURNAL && (said.version == 1) == is_plain(header));
    let Some(Header { version, slurm_vipu, .. }) = header else { return Ok(None) };
    if version <= VERSION {
        return Ok(Some(version));
    }
    let writer = slurm_vipu.map_or("the newer one".into(), |writer| format!("slurm-vipu {writer}"));
    Err(format!(
        "it is of version {version}, and this slurm-vipu knows up to {VERSION}: install {writer} again"
    ))
}

fn is_plain(line: &[u8]) -> bool {
    line.starts_with(b"{")
}

/// The JSON of a line, if its checksum is right.
fn json_of(line: &[u8]) -> Result<&[u8], Box<dyn std::error::Error>> {
    let line = line.trim_ascii_end();
    if is_plain(line) {
        return Ok(line);
    }
    let (checksum, json) = line.split_at_checked(8).ok_or("it has no checksum")?;
    let json = json.strip_prefix(b" ").ok_or("it has no checksum")?;
    match checksum == format!("{:08x}", crc32fast::hash(json)).as_bytes() {
        true => Ok(json),
        false => Err("its checksum is wrong".into()),
    }
}

/// The text of a new file.
pub(super) fn whole(book: &Book) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let slurm_vipu = Some(env!("CARGO_PKG_VERSION").into());
    put(&mut text, &Header { journal: JOURNAL.into(), version: VERSION, slurm_vipu })?;
    book.entries().try_for_each(|entry| line(&mut text, &entry))?;
    Ok(text)
}

/// Adds an entry to `text`.
pub(super) fn line(text: &mut Vec<u8>, entry: &Entry) -> std::io::Result<()> {
    put(text, &StoredEntry::from(entry))
}

fn put(text: &mut Vec<u8>, value: &impl Serialize) -> std::io::Result<()> {
    let json = serde_json::to_vec(value)?;
    write!(text, "{:08x} ", crc32fast::hash(&json))?;
    text.extend_from_slice(&json);
    text.push(b'\n');
    Ok(())
}
