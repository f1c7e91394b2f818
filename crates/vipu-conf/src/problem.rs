//! One error in a file and its place, shown with the line and a caret.

use std::fmt;
use std::ops::Range;

use vipu_types::Words;

/// One error in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind of error.
    pub reason: Reason,
    /// The place; `None` if something is missing.
    pub spot: Option<Spot>,
}

/// A kind of error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Text that does not begin an assignment.
    #[error("here should be <key>=<value>")]
    NoKey,
    /// A word without `=`, or without a value behind it.
    #[error("'{}' has no value: write {}=<value>", shown(.key), shown(.key))]
    NoValue {
        /// The word.
        key: String,
    },
    /// A quote that is not closed.
    #[error("the quote is never closed")]
    OpenQuote,
    /// Text that directly follows a closing quote.
    #[error("something follows the closing quote: put a blank between")]
    AfterQuote,
    /// Bytes that are no UTF-8, outside a comment.
    #[error("'{}' is not UTF-8: write the file in UTF-8", shown(.0))]
    NotUtf8(String),
    /// Lines of a configuration file of Slurm.
    #[error(
        "{key} belongs into {file}, and there is no ApiHost: this is no file of slurm-vipu; svipu doctor checks {file}"
    )]
    OtherFile {
        /// The word that only the other file has.
        key: &'static str,
        /// The name of the other file.
        file: &'static str,
    },
    /// A key that does not exist.
    #[error("unknown key '{}'{}", shown(.key), .nearest.map_or(String::new(), |key| format!(": did you mean {key}?")))]
    UnknownKey {
        /// The word.
        key: String,
        /// The key that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A key that was given before.
    #[error("{key} is given twice, first in line {first_line}")]
    Duplicate {
        /// The key.
        key: &'static str,
        /// The line in which it was given first.
        first_line: usize,
    },
    /// A value that its key cannot have.
    #[error("{key}={}: {valid}", shown(.value))]
    BadValue {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// The error, and what would be valid.
        valid: Words,
    },
    /// The GRES types on the nodes are sizes of partitions, which only a pool has.
    #[error(
        "nodes offer partitions by their size, as in Gres=vipu:16:4, and this model has no pool: write Mode=pool and Pool=<partitions> \
         here, or Gres=vipu:<model>:no_consume:<IPUs> on the nodes"
    )]
    SizesWithoutPool,
    /// An error in the file with the IPUs of each host.
    #[error("{fault}")]
    HostMap {
        /// The error, and what would be valid.
        fault: String,
    },
    /// A required key is not there.
    #[error("{key} is missing: add {key}=<{unit}> ({help})")]
    Missing {
        /// The key.
        key: &'static str,
        /// The unit or kind of its value.
        unit: &'static str,
        /// Its effect, in one line.
        help: &'static str,
    },
}

/// A place in a file, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Width in characters, at least 1.
    pub width: usize,
    /// The line's text.
    pub source: String,
}

impl Spot {
    /// The spot of `span`, a range of bytes in `text`. A span over several lines is cut after its first line.
    pub(crate) fn of(text: &str, span: &Range<usize>) -> Self {
        let (before, after) = text.split_at_checked(span.start).unwrap_or((text, ""));
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let source = text[start..].lines().next().unwrap_or_default().to_owned();
        let length = span.end.saturating_sub(span.start);
        let inside = after.char_indices().take_while(|(at, c)| *at < length && *c != '\n');
        Self {
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            width: inside.count().max(1),
            source,
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = shown(&self.source);
        // The caret stays under a line that was cut.
        let indent = (self.column - 1).min(source.chars().count());
        let width = self.width.min(source.chars().count().saturating_sub(indent)).max(1);
        let line = self.line.to_string();
        let gutter = " ".repeat(line.len());
        writeln!(f, " {line} | {source}")?;
        write!(f, " {gutter} | {}{}", " ".repeat(indent), "^".repeat(width))
    }
}

/// Text of the file that is safe in a log: without control characters, and of limited length.
fn shown(text: &str) -> String {
    const LONGEST: usize = 200;
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown
}
