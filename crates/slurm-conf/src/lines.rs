//! From physical lines to the lines that Slurm takes, without comments, joined, and without escapes; and from these lines
//! to `Key=Value`.

use std::ops::Range;

/// A blank as C's `isspace` sees it.
pub(crate) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

/// One line, made of one or more physical lines.
pub(crate) struct Joined {
    /// The number of its first physical line, from 1.
    pub(crate) number: usize,
    /// The number of its physical lines.
    pub(crate) count: usize,
    /// The text.
    pub(crate) text: String,
    /// The place in the file of each byte of the text. An escaped character has that of its backslash, too.
    pub(crate) places: Vec<Range<usize>>,
    /// Whether the file ends where the line would go on.
    pub(crate) is_open: bool,
}

/// Splits a text into lines. A line goes on if its last character is a backslash that is not escaped.
pub(crate) fn joined(text: &str) -> impl Iterator<Item = Joined> {
    let mut physical = text.split_inclusive('\n').enumerate();
    let mut start = 0;
    std::iter::from_fn(move || {
        let (index, mut line) = physical.next()?;
        let (text, places) = (String::new(), Vec::new());
        let mut joined = Joined { number: index + 1, count: 1, text, places, is_open: false };
        loop {
            let content = line.strip_suffix('\n').unwrap_or(line);
            let content = &content[..comment(content)];
            let head = continued(content);
            joined.push(head.unwrap_or(content), start);
            start += line.len();
            if head.is_none() {
                break;
            }
            let Some((_, next)) = physical.next() else {
                joined.is_open = true;
                break;
            };
            line = next;
            joined.count += 1;
        }
        Some(joined)
    })
}

impl Joined {
    /// Adds a part of a physical line without its escapes. It begins at `start` in the file.
    fn push(&mut self, part: &str, start: usize) {
        let mut characters = part.char_indices();
        while let Some((from, mut character)) = characters.next() {
            if character == '\\' {
                let Some((_, escaped)) = characters.next() else { break };
                character = escaped;
            }
            self.text.push(character);
            let place = start + from..start + characters.offset();
            self.places.resize(self.text.len(), place);
        }
    }
}

/// The place at which the comment begins. Quotes protect no `#`, only a backslash does. A NUL ends a line of C.
fn comment(line: &str) -> usize {
    let mut escaped = false;
    let begin = line.find(|c| {
        let begins = c == '\0' || c == '#' && !escaped;
        escaped = c == '\\' && !escaped;
        begins
    });
    begin.unwrap_or(line.len())
}

/// The text before the backslash that continues the line.
fn continued(content: &str) -> Option<&str> {
    let content = content.trim_end_matches(is_blank);
    let backslashes = content.bytes().rev().take_while(|byte| *byte == b'\\').count();
    content.strip_suffix('\\').filter(|_| backslashes % 2 == 1)
}

/// `Key=Value`, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The key. Its case does not matter.
    pub key: String,
    /// The character before the sign, as in `Key+=Value`.
    pub operator: Option<char>,
    /// The value, without quotes.
    pub value: String,
    /// The value in its file, for [`crate::Edits`].
    pub(crate) bytes: Range<usize>,
}

impl Pair {
    /// Whether the key is this one.
    pub fn is(&self, key: &str) -> bool {
        self.key.eq_ignore_ascii_case(key)
    }
}

/// The first pair of a line from a place on, and the place behind it.
pub(crate) fn first_pair(line: &Joined, from: usize) -> Option<(Pair, usize)> {
    let text = line.text[from..].trim_start_matches(is_blank);
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let (key, rest) = text.split_at(text.find(|c| !is_of_key(c))?);
    let rest = rest.trim_start_matches(is_blank);
    let operator = rest.chars().next().filter(|c| "-*+/".contains(*c));
    let rest = rest.strip_prefix(['-', '*', '+', '/']).unwrap_or(rest);
    let rest = rest.strip_prefix('=')?.trim_start_matches(is_blank);
    let start = line.text.len() - rest.len();
    let (start, (value, rest)) = match quoted(rest) {
        Some(found) => (start + 1, found),
        None => (start, bare(rest)?),
    };
    // An empty value has its closing quote there.
    let begin = line.places[start].start;
    let end = if value.is_empty() { begin } else { line.places[start + value.len() - 1].end };
    let pair = Pair { key: key.to_owned(), operator, value: value.to_owned(), bytes: begin..end };
    (!key.is_empty()).then_some((pair, line.text.len() - rest.len()))
}

/// The value in quotes, and what follows it. A closing quote ends the value only before a blank.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (value, rest) = text.strip_prefix('"')?.split_once('"')?;
    (rest.is_empty() || rest.starts_with(is_blank)).then_some((value, rest))
}

/// The value without quotes, and what follows it.
fn bare(text: &str) -> Option<(&str, &str)> {
    let (value, rest) = text.split_at(text.find(is_blank).unwrap_or(text.len()));
    (!value.is_empty()).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_slurm_conf_lines_are_joined_as_slurm_joins_them() {
        for (text, lines) in [
            ("", vec![]),
            ("a=1\r\nb=2", vec!["1+1 a=1\r", "2+1 b=2"]),
            ("a=\"x # y\"\n", vec!["1+1 a=\"x "]),
            ("a=x\\#y # z\n", vec!["1+1 a=x#y "]),
            ("a \\\n b\\  \nc\nd", vec!["1+3 a  bc", "4+1 d"]),
            ("a \\ # c\nb", vec!["1+2 a b"]),
            ("# a \\\nb", vec!["1+1 ", "2+1 b"]),
            ("a\\\\\nb\\\\\\\nc", vec!["1+1 a\\", "2+2 b\\c"]),
            ("C:\\dir\\", vec!["1+1 C:dir"]),
            ("a\0b\nc", vec!["1+1 a", "2+1 c"]),
        ] {
            let show = |line: &Joined| format!("{}+{} {}", line.number, line.count, line.text);
            let found: Vec<_> = joined(text).collect();
            assert_eq!(found.iter().map(show).collect::<Vec<_>>(), lines, "{text:?}");
            for line in found {
                let written: String = line.places.iter().map(|place| &text[place.clone()]).collect();
                assert_eq!(written.replace('\\', ""), line.text.replace('\\', ""), "{text:?}");
            }
        }
    }

    #[test]
    fn cli_slurm_conf_pairs_are_read_as_slurm_reads_them() {
        for (text, key, operator, value, rest) in [
            ("a=1", "a", None, "1", ""),
            ("a=1\r", "a", None, "1", "\r"),
            (" A_b.2 = x=y z", "A_b.2", None, "x=y", " z"),
            ("a=\"x y\" b", "a", None, "x y", " b"),
            ("a=\"\"", "a", None, "", ""),
            ("a=\"x y\"z", "a", None, "\"x", " y\"z"),
            ("a=\"x y", "a", None, "\"x", " y"),
            ("a += 1", "a", Some('+'), "1", ""),
            ("a=é\u{a0}", "a", None, "é\u{a0}", ""),
        ] {
            let (pair, end) = first_pair(&joined(text).next().unwrap(), 0).unwrap();
            assert_eq!((&*pair.key, pair.operator, &*pair.value), (key, operator, value), "{text}");
            assert_eq!((&text[pair.bytes], &text[end..]), (value, rest), "{text}");
        }
        for none in [" ", "a", "a=", "a= ", "=1", "a b=1", "é=1", "a++=1", "-=1"] {
            assert_eq!(first_pair(&joined(none).next().unwrap(), 0), None, "{none}");
        }
    }
}
