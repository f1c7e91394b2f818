//! From physical lines to the lines that Slurm takes: without comments, joined, and without escapes.

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
}

/// Splits a text into lines. A line goes on if its last character is a backslash that is not escaped.
pub(crate) fn joined(text: &str) -> impl Iterator<Item = Joined> {
    let mut physical = text.lines().enumerate();
    std::iter::from_fn(move || {
        let (index, mut line) = physical.next()?;
        let mut joined = Joined { number: index + 1, count: 1, text: String::new() };
        loop {
            let content = &line[..comment(line)];
            let Some(head) = continued(content) else {
                joined.text.push_str(content);
                break;
            };
            joined.text.push_str(head);
            let Some((_, next)) = physical.next() else { break };
            line = next;
            joined.count += 1;
        }
        joined.text = without_escapes(&joined.text);
        Some(joined)
    })
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

fn without_escapes(text: &str) -> String {
    let mut characters = text.chars();
    std::iter::from_fn(|| match characters.next()? {
        '\\' => characters.next(),
        other => Some(other),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_slurm_conf_lines_are_joined_as_slurm_joins_them() {
        for (text, lines) in [
            ("", vec![]),
            ("a=1\r\nb=2", vec!["1+1 a=1", "2+1 b=2"]),
            ("a=\"x # y\"\n", vec!["1+1 a=\"x "]),
            ("a=x\\#y # z\n", vec!["1+1 a=x#y "]),
            ("a \\\n b\\  \nc\nd", vec!["1+3 a  bc", "4+1 d"]),
            ("a \\ # c\nb", vec!["1+2 a b"]),
            ("# a \\\nb", vec!["1+1 ", "2+1 b"]),
            ("a\\\\\nb\\\\\\\nc", vec!["1+1 a\\", "2+2 b\\c"]),
            ("C:\\dir\\", vec!["1+1 C:dir"]),
            ("a\0b\nc", vec!["1+1 a", "2+1 c"]),
        ] {
            let show = |line: Joined| format!("{}+{} {}", line.number, line.count, line.text);
            assert_eq!(joined(text).map(show).collect::<Vec<_>>(), lines, "{text:?}");
        }
    }
}
