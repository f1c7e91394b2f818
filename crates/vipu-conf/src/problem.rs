//! One thing that is wrong with a file, and its place, with the line and a caret.

use std::fmt;
use std::ops::Range;

/// One thing wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What.
    pub reason: Reason,
    /// Where; nowhere when something is missing.
    pub spot: Option<Spot>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Something that starts no assignment.
    #[error("here should be <key>=<value>")]
    NoKey,
    /// A word without `=`, or nothing behind it.
    #[error("'{}' has no value: write {}=<value>", shown(.key), shown(.key))]
    NoValue {
        /// The word.
        key: String,
    },
    /// A quote opened and not closed.
    #[error("the quote is never closed")]
    OpenQuote,
    /// Text sticks to a closing quote.
    #[error("something follows the closing quote: put a blank between")]
    AfterQuote,
    /// No such key.
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
        /// Where it was given first.
        first_line: usize,
    },
    /// A value its key cannot have.
    #[error("{key}={}: {valid}", shown(.value))]
    BadValue {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// What is wrong and what would be valid.
        valid: String,
    },
    /// A required key is not there.
    #[error("{key} is missing: add {key}=<{unit}> ({help})")]
    Missing {
        /// The key.
        key: &'static str,
        /// What its value is.
        unit: &'static str,
        /// What it is for.
        help: &'static str,
    },
}

/// A place in a file, with the line it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Characters, at least 1.
    pub width: usize,
    /// The line's text.
    pub source: String,
}

impl Spot {
    /// The spot of `span`, given in bytes of `text`. Of a span over several lines, the part in the first.
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

/// Text of the file as it may stand in a log: no control characters, and not without end.
fn shown(text: &str) -> String {
    const LONGEST: usize = 200;
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown
}
