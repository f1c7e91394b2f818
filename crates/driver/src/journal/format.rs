//! The text of a journal: a header with the version, then one entry per line. Each line has the CRC-32 of its
//! JSON in hexadecimal, a space, and the JSON. Version 1 had the JSON alone.

use std::io::Write;

use serde::{Deserialize, Serialize};
use vipu_types::{ControllerName, ModelName, Words, words};

use super::entry::Entry;
use super::replay::Book;
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
    /// Damage of the other lines.
    pub damage: Vec<Words>,
    /// Claims without a known controller. They are lost.
    pub lost: Vec<Words>,
}

/// Reads a whole file. `first` returns the first controller of a model, for claims that name none. Damaged
/// lines are skipped.
///
/// # Errors
/// If a newer version wrote the file. The error names the version.
pub(super) fn parse(
    text: &[u8],
    first: &impl Fn(&ModelName) -> Option<ControllerName>,
) -> Result<Read, Words> {
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
            Err(why) => read.damage.push(words!("line {}: {why}", index + 1)),
        }
    }
    Ok(read)
}

/// The version in the header of a journal, if it has one.
///
/// # Errors
/// If the version is newer than `VERSION`.
pub(super) fn version(text: &[u8]) -> Result<Option<u32>, Words> {
    let header = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let said = json_of(header).ok().and_then(|json| serde_json::from_slice::<Header>(json).ok());
    // A header without a checksum is believed if it says version 1, and only then.
    let header = said.filter(|said| said.journal == JOURNAL && (said.version == 1) == is_plain(header));
    let Some(Header { version, slurm_vipu, .. }) = header else { return Ok(None) };
    if version <= VERSION {
        return Ok(Some(version));
    }
    let writer = slurm_vipu.map_or("the newer one".into(), |writer| format!("slurm-vipu {writer}"));
    Err(words!(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_claim::claim;

    /// The text of a journal with three partitions.
    fn three() -> Vec<u8> {
        let mut text = whole(&Book::default()).unwrap();
        for job in 1..=3 {
            let ipuof_dir = Some("/ipuof".into());
            let entry = Entry::Create { claim: claim(job), ipuof_dir, stays: false, unanswered: 0 };
            line(&mut text, &entry).unwrap();
        }
        text
    }

    fn found_in(text: &[u8]) -> Vec<u32> {
        let read = parse(text, &|_| None).unwrap();
        read.book.live().map(|record| record.claim.run.job).collect()
    }

    fn lines(text: &[u8]) -> u32 {
        text.iter().filter(|byte| **byte == b'\n').count().try_into().unwrap()
    }

    #[test]
    fn a_damaged_bit_costs_no_more_than_its_line_and_the_next() {
        let text = three();
        for (at, bit) in (0..text.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut damaged = text.clone();
            damaged[at] ^= 1 << bit;
            let found = found_in(&damaged);
            // A damaged line end spoils the next line, too.
            let line = lines(&text[..at]);
            let sound: Vec<_> = (1..=3).filter(|job| ![line, line + 1].contains(job)).collect();
            assert!(sound.iter().all(|job| found.contains(job)), "bit {bit} of byte {at}: {found:?}");
            let written = found.iter().all(|job| (1..=3).contains(job));
            assert!(written, "bit {bit} of byte {at}: {found:?} were never written");
        }
    }

    #[test]
    fn a_file_cut_short_anywhere_has_the_lines_before() {
        let text = three();
        for length in 0..text.len() {
            let whole = lines(&text[..length]);
            assert_eq!(found_in(&text[..length]), (1..whole).collect::<Vec<_>>(), "{length} bytes");
        }
    }
}
