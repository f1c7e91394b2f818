//! Changes of single lines of a file. All other lines stay as they are.

use std::collections::BTreeMap;

use slurm_conf::Line;

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
        let changed = match rest.contains(old) {
            true => format!("{key}={}", rest.replacen(old, new, 1)),
            false => format!("{}={new}", line.pair.key),
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
