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
}

impl<'a> Edits<'a> {
    /// No changes of this text.
    pub fn new(text: &'a str) -> Self {
        Self { text, changes: Vec::new(), added: String::new() }
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
        self.changes.push((start..start, format!("{line}\n")));
    }

    /// Adds a line at the end.
    pub fn add(&mut self, line: &str) {
        self.added += line;
        self.added.push('\n');
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
            // The last line may have no end, or go on.
            let is_open = joined(self.text).last().is_some_and(|line| line.is_open);
            let has_no_end = !new.is_empty() && !new.ends_with('\n');
            new.extend([has_no_end, is_open].iter().filter(|is_so| **is_so).map(|_| '\n'));
        }
        new + &self.added
    }

    /// The place at which a physical line begins.
    fn start(&self, number: usize) -> usize {
        self.text.split_inclusive('\n').take(number - 1).map(str::len).sum()
    }
}
