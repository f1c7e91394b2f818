//! The text of a journal: a header that says the version, then one JSON value to a line.

use vipu_types::{ControllerName, ModelName};

use super::Entry;
use super::book::Book;
use super::line::Line;

const HEADER: &str = r#"{"journal":"slurm-vipu","version":1}"#;

/// What a file said.
#[derive(Debug)]
pub(super) struct Read {
    pub book: Book,
    /// The last line was cut short.
    pub torn: bool,
    /// Claims that nobody can do anything about; a line for people on each.
    pub lost: Vec<String>,
}

/// Reads a whole file; `first` knows the first controller of a model, for claims that name none.
///
/// # Errors
/// When it is no journal of this version, or has a bad line before its last; says where.
pub(super) fn parse(
    text: &[u8],
    first: &impl Fn(&ModelName) -> Option<ControllerName>,
) -> Result<Read, String> {
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    let mut read = Read { book: Book::default(), torn: false, lost: Vec::new() };
    match lines.next() {
        Some((_, header)) if header.trim_ascii_end() == HEADER.as_bytes() => {}
        Some((_, header)) => return Err(format!("line 1 is '{}', not {HEADER}", header.escape_ascii())),
        None => return Ok(read),
    }
    while let Some((index, line)) = lines.next() {
        let whole = line.ends_with(b"\n");
        match serde_json::from_slice::<Line>(line) {
            Ok(line) if whole => match line.entry(first) {
                Ok(entry) => read.book.apply(entry),
                Err(why) => read.lost.push(why),
            },
            _ if lines.peek().is_none() => read.torn = true,
            Ok(_) => {}
            Err(error) => return Err(format!("line {}: {error}", index + 1)),
        }
    }
    Ok(read)
}

/// The text of a new file.
pub(super) fn whole(book: &Book) -> serde_json::Result<Vec<u8>> {
    let mut text = format!("{HEADER}\n").into_bytes();
    book.entries().try_for_each(|entry| line(&mut text, &entry))?;
    Ok(text)
}

/// Adds an entry to `text`.
pub(super) fn line(text: &mut Vec<u8>, entry: &Entry) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *text, &Line::from(entry))?;
    text.push(b'\n');
    Ok(())
}
