//! Changes of a file. All bytes stay but those of the changes.

use std::ops::Range;

use crate::lines::{Pair, joined};
use crate::problem::Place;

/// The changes of the text of one file.
pub struct Edits<'a> {
    text: &'a str,
    changes: Vec<(Range<usize>, String)>,
    /// The lines to add at the end.
    added: String,
    /// The end of a line that is added.
    end: &'static str,
}

impl<'a> Edits<'a> {
    /// No changes of this text. Lines that are added end as its first line.
    pub fn new(text: &'a str) -> Self {
        let first = text.split_inclusive('\n').next().unwrap_or_default();
        let end = if first.ends_with("\r\n") { "\r\n" } else { "\n" };
        Self { text, changes: Vec::new(), added: String::new(), end }
    }

    /// No changes of a text of plugstack.conf, where Slurm takes a CR for a part of the last word.
    pub fn of_plugstack(text: &'a str) -> Self {
        Self { end: "\n", ..Self::new(text) }
    }

    /// Takes a line out, with its comment.
    pub fn remove(&mut self, place: &Place, physical_lines: usize) {
        let lines = self.start(place.line)..self.start(place.line + physical_lines);
        self.changes.push((lines, String::new()));
    }

    /// Gives a pair another value, in one physical line. The value that it has stays as it is written.
    pub fn set(&mut self, pair: &Pair, value: &str) {
        if pair.value != value {
            let escaped = value.replace('\\', "\\\\").replace('#', "\\#");
            self.changes.push((pair.bytes.clone(), escaped));
        }
    }

    /// Adds a line above the physical line with this number.
    pub fn add_above(&mut self, number: usize, line: &str) {
        let start = self.start(number);
        self.changes.push((start..start, format!("{line}{}", self.end)));
    }

    /// Adds a line at the end.
    pub fn add(&mut self, line: &str) {
        self.added += line;
        self.added += self.end;
    }

    /// The text with the changes.
    pub fn apply(mut self) -> String {
        // A file that is included twice has each line twice.
        self.changes.sort_by(|(one, first), (other, second)| {
            (one.start, one.end, first).cmp(&(other.start, other.end, second))
        });
        self.changes.dedup();
        let (mut new, mut done) = (String::new(), 0);
        for (place, text) in self.changes {
            new += &self.text[done..place.start];
            new += &text;
            done = place.end;
        }
        new += &self.text[done..];
        if !self.added.is_empty() {
            // The last line may have no end, half of one, or go on.
            if !new.is_empty() && !new.ends_with('\n') {
                new += if new.ends_with('\r') { "\n" } else { self.end };
            }
            if joined(self.text).last().is_some_and(|line| line.is_open) {
                new += self.end;
            }
        }
        new + &self.added
    }

    /// The place at which a physical line begins.
    fn start(&self, number: usize) -> usize {
        self.text.split_inclusive('\n').take(number - 1).map(str::len).sum()
    }
}
