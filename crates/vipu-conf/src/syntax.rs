//! The grammar of `slurm.conf`: from text to assignments with their places.
//!
//! As in Slurm, a line ends where a comment starts, and a line whose last character is a backslash goes on
//! with the next one. Lines that go on form one logical line here, and each of its characters keeps its place
//! in the file. A `#` inside double quotes starts no comment.

use std::ops::Range;

use crate::problem::Reason;

/// A piece of the file and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The text, without quotes.
    pub(crate) text: String,
    /// The place in the file, in bytes.
    pub(crate) span: Range<usize>,
}

/// `Key=Value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// The key as written.
    pub(crate) key: Piece,
    /// The value.
    pub(crate) value: Piece,
}

/// An assignment, or the error in its place.
pub(crate) type Item = Result<Assignment, (Reason, Range<usize>)>;

/// Reads all of `text`. An error ends the reading of its logical line, never of the file.
pub(crate) fn parse(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    for line in logical_lines(text) {
        let mut cursor = Cursor { line: &line, at: 0 };
        while cursor.skip_blanks() {
            let item = cursor.assignment();
            let broken = item.is_err();
            items.push(item);
            if broken {
                break;
            }
        }
    }
    items
}

/// The characters of a logical line, each with its byte offset in the file.
type Line = Vec<(usize, char)>;

/// Splits the text into logical lines without their comments.
fn logical_lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line::new();
    let mut start = 0;
    for physical in text.split_inclusive('\n') {
        let (content, continued) = content_of(physical);
        line.extend(content.char_indices().map(|(offset, c)| (start + offset, c)));
        if !continued {
            lines.push(std::mem::take(&mut line));
        }
        start += physical.len();
    }
    lines.push(line);
    lines
}

/// The part of a physical line that belongs to its logical line, and whether the next line continues it.
fn content_of(physical: &str) -> (&str, bool) {
    let mut quoted = false;
    let comment = physical.find(|c| {
        quoted ^= c == '"';
        c == '#' && !quoted
    });
    let content = &physical[..comment.unwrap_or(physical.len())];
    match content.trim_end().strip_suffix('\\') {
        Some(head) => (head, true),
        None => (content.trim_end_matches(['\n', '\r']), false),
    }
}

/// A place in a logical line.
struct Cursor<'a> {
    line: &'a [(usize, char)],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<char> {
        self.line.get(self.at).map(|(_, c)| *c)
    }

    /// Skips blanks. Returns false at the end of the line.
    fn skip_blanks(&mut self) -> bool {
        self.take_while(char::is_whitespace);
        self.peek().is_some()
    }

    /// Moves past the characters that `belongs` accepts and returns them.
    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> Piece {
        let from = self.at;
        while self.peek().is_some_and(&belongs) {
            self.at += 1;
        }
        self.piece(from)
    }

    /// The text of this line from place `from` to the cursor.
    fn piece(&self, from: usize) -> Piece {
        let taken = self.line.get(from..self.at).unwrap_or_default();
        let start = self.line.get(from).or(self.line.last()).map_or(0, |(offset, _)| *offset);
        let end = taken.last().map_or(start, |(offset, c)| offset + c.len_utf8());
        Piece { text: taken.iter().map(|(_, c)| c).collect(), span: start..end }
    }

    /// Reads one `Key=Value`, blanks around the sign allowed.
    fn assignment(&mut self) -> Item {
        let key = self.take_while(|c| !c.is_whitespace() && c != '=' && c != '"');
        if key.text.is_empty() {
            let from = self.at;
            self.at = self.line.len();
            return Err((Reason::NoKey, self.piece(from).span));
        }
        self.skip_blanks();
        if self.peek() != Some('=') {
            return Err((Reason::NoValue { key: key.text }, key.span));
        }
        self.at += 1;
        self.skip_blanks();
        match self.value()? {
            value if value.span.is_empty() => Err((Reason::NoValue { key: key.text }, key.span)),
            value => Ok(Assignment { key, value }),
        }
    }

    /// Reads a value with or without quotes.
    fn value(&mut self) -> Result<Piece, (Reason, Range<usize>)> {
        if self.peek() != Some('"') {
            return Ok(self.take_while(|c| !c.is_whitespace()));
        }
        let from = self.at;
        self.at += 1;
        let inner = self.take_while(|c| c != '"');
        if self.peek().is_none() {
            return Err((Reason::OpenQuote, self.piece(from).span));
        }
        self.at += 1;
        let span = self.piece(from).span;
        let rest = self.take_while(|c| !c.is_whitespace());
        if !rest.text.is_empty() {
            return Err((Reason::AfterQuote, rest.span));
        }
        Ok(Piece { text: inner.text, span })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `key=value` of each assignment, or `!reason@piece`.
    fn read(text: &str) -> Vec<String> {
        let show = |item: Item| match item {
            Ok(Assignment { key, value }) => format!("{}={}", key.text, value.text),
            Err((reason, span)) => format!("!{reason}@{}", &text[span]),
        };
        parse(text).into_iter().map(show).collect()
    }

    #[test]
    fn slurms_grammar_is_read() {
        for (text, found) in [
            ("", vec![]),
            ("\n  \t\r\n# only=comment\n", vec![]),
            ("a=1 b=2\tc=3", vec!["a=1", "b=2", "c=3"]),
            ("a = 1\r\nb= 2\nc =3", vec!["a=1", "b=2", "c=3"]),
            ("a=1#b=2\n#c=3 \\\nd=4", vec!["a=1", "d=4"]),
            ("a=\"x # y\" b=\"\"", vec!["a=x # y", "b="]),
            ("a=1 \\\n b=2", vec!["a=1", "b=2"]),
            ("a=on\\\nce", vec!["a=once"]),
            ("a=1 \\  \nb=2 # c=3 \\\nd=4", vec!["a=1", "b=2", "d=4"]),
            ("a=/x=y", vec!["a=/x=y"]),
            ("a=1 \\", vec!["a=1"]),
        ] {
            assert_eq!(read(text), found, "{text:?}");
        }
    }

    #[test]
    fn a_bad_assignment_is_named_and_costs_only_its_line() {
        for (text, found) in [
            ("a\nb=2", vec!["!'a' has no value: write a=<value>@a", "b=2"]),
            ("a=\nb=2", vec!["!'a' has no value: write a=<value>@a", "b=2"]),
            ("=3 c=4\nb=2", vec!["!here should be <key>=<value>@=3 c=4", "b=2"]),
            ("a=\"x\nb=2", vec!["!the quote is never closed@\"x", "b=2"]),
            ("a=\"x\"y b=2", vec!["!something follows the closing quote: put a blank between@y"]),
        ] {
            assert_eq!(read(text), found, "{text:?}");
        }
    }

    #[test]
    fn pieces_know_their_place_across_a_continuation() {
        let text = "# é\na=1 \\\n  bé=\"ü x\"\n";
        let Some(Ok(second)) = parse(text).pop() else { panic!("no assignment") };
        assert_eq!(&text[second.key.span], "bé");
        assert_eq!(&text[second.value.span], "\"ü x\"");
    }
}
