//! Changes of single lines of a file. All other lines stay as they are.

use std::collections::BTreeMap;

use slurm_conf::{Line, Pair};

/// The changes of one file.
#[derive(Default)]
pub(super) struct Edits {
    /// By the first physical line: the number of physical lines, and the text in their place.
    replaced: BTreeMap<usize, (usize, Option<String>)>,
    added: Vec<String>,
}

impl Edits {
    /// Takes a line out.
    pub(super) fn remove(&mut self, line: &Line) {
        self.replaced.insert(line.place.line, (line.count, None));
    }

    /// Replaces a value in a line. The rest of the line stays, with its comment.
    pub(super) fn replace(&mut self, text: &str, line: &Line, old: &str, new: &str) {
        let start = line.place.line - 1;
        let physical: Vec<_> = text.lines().skip(start).take(line.count).collect();
        let whole = physical.join("\n");
        // The key itself may contain the value.
        let (key, rest) = whole.split_once('=').unwrap_or(("", &whole));
        let changed = match !old.is_empty() && rest.contains(old) {
            true => format!("{key}={}", rest.replacen(old, new, 1)),
            false => rewritten(line, old, new),
        };
        self.replaced.insert(line.place.line, (line.count, Some(changed)));
    }

    /// Adds a line at the end.
    pub(super) fn add(&mut self, line: String) {
        self.added.push(line);
    }

    /// The text with the changes.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut new = String::new();
        let mut skipped = 0;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            if let Some((count, replacement)) = self.replaced.get(&(index + 1)) {
                skipped = *count;
                new.extend(replacement.iter().flat_map(|text| [text.as_str(), "\n"]));
            }
            if skipped == 0 {
                new += line;
            }
            skipped = skipped.saturating_sub(1);
        }
        if !self.added.is_empty() && !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        self.added.iter().for_each(|line| new += &format!("{line}\n"));
        new
    }
}

/// The line made anew, where an escape or the end of a physical line is inside the value.
fn rewritten(line: &Line, old: &str, new: &str) -> String {
    let text = |pair: &Pair| {
        let value = if pair.value == old { new } else { &pair.value };
        let value = value.replace('\\', "\\\\").replace('#', "\\#");
        let quote = if value.is_empty() || value.contains(char::is_whitespace) { "\"" } else { "" };
        format!("{}={quote}{value}{quote}", pair.key)
    };
    let pairs = std::iter::once(&line.pair).chain(&line.more).map(text);
    pairs.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The text with this value in its line with this number.
    fn replaced(text: &str, number: usize, old: &str, new: &str) -> String {
        let line = |pairs: &[(&str, &str)], line, count| {
            let pair = |(key, value): &(&str, &str)| Pair {
                key: (*key).into(),
                operator: None,
                value: (*value).into(),
            };
            let mut pairs = pairs.iter().map(pair);
            let place = slurm_conf::Place { file: Path::new("f").into(), line };
            Line { place, count, pair: pairs.next().unwrap(), more: pairs.collect() }
        };
        let lines = [
            line(&[("GresTypes", "Gres")], 1, 1),
            line(&[("NodeName", "n1"), ("Gres", "vipu:64"), ("Reason", "a #b")], 2, 2),
            line(&[("GresTypes", "")], 4, 1),
        ];
        let mut edits = Edits::default();
        let line = lines.iter().find(|line| line.place.line == number).unwrap();
        edits.replace(text, line, old, new);
        edits.apply(text)
    }

    #[test]
    fn cli_migrate_lines_keep_what_is_not_replaced() {
        let text = "GresTypes=Gres # x\nNodeName=n1 Gres=vi\\\npu:64 Reason=\"a \\#b\"\nGresTypes=\"\"";
        let first = replaced(text, 1, "Gres", "vipu");
        assert!(first.starts_with("GresTypes=vipu # x\nNodeName=n1"), "{first}");
        let second = replaced(text, 2, "vipu:64", "x");
        assert_eq!(second.lines().nth(1), Some("NodeName=n1 Gres=x Reason=\"a \\#b\""));
        assert_eq!(second.lines().count(), 3);
        assert_eq!(replaced(text, 4, "", "vipu").lines().last(), Some("GresTypes=vipu"));
    }
}
