//! Changes of a file. All bytes stay but those of the changes.

use std::ops::Range;

use crate::lines::{Pair, joined};
use crate::problem::Place;
use crate::slurm_conf::Line;

/// The changes of the text of one file.
pub struct Edits<'a> {
    text: &'a str,
    /// The place at which each physical line begins, and the end.
    starts: Vec<usize>,
    changes: Vec<(Range<usize>, String)>,
    /// The lines to add at the end.
    added: String,
}

impl<'a> Edits<'a> {
    /// No changes of this text.
    pub fn new(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.split_inclusive('\n').scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        }));
        Self { text, starts, changes: Vec::new(), added: String::new() }
    }

    /// Takes a line out, with its comment.
    pub fn remove(&mut self, place: &Place, physical_lines: usize) {
        let lines = self.start(place.line)..self.start(place.line + physical_lines);
        self.changes.push((lines, String::new()));
    }

    /// Gives a pair of a line another value. What both values begin and end with stays as it is written, so that a
    /// list over several physical lines keeps their form and comments.
    pub fn set(&mut self, line: &Line, pair: &Pair, value: &str) {
        let start = self.start(line.place.line);
        let Some(joined) = joined(&self.text[start..]).next() else { return };
        let begin = common(pair.value.chars(), value.chars());
        let (old, new) = (&pair.value[begin..], &value[begin..]);
        let end = common(old.chars().rev(), new.chars().rev());
        let new = new[..new.len() - end].replace('\\', "\\\\").replace('#', "\\#");
        let old = pair.place + begin..pair.place + pair.value.len() - end;
        // The last byte before an insertion at the end of the line, or the quote before an empty value.
        let before = || joined.places.get(old.start.wrapping_sub(1)).map(|place| place.end);
        let at = joined.places.get(old.start).map(|place| place.start).or_else(before).unwrap_or_default();
        self.changes.push((start + at..start + at, new));
        let taken = joined.places.get(old).unwrap_or_default();
        self.changes
            .extend(taken.iter().map(|place| (start + place.start..start + place.end, String::new())));
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
            // Several bytes of a character have one place.
            new += self.text.get(done..place.start).unwrap_or_default();
            new += &text;
            done = done.max(place.end);
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

    fn start(&self, number: usize) -> usize {
        self.starts.get(number - 1).copied().unwrap_or(self.text.len())
    }
}

/// The number of bytes of the characters that both begin with.
fn common(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).map(|(character, _)| character.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::{Path, PathBuf};

    use crate::{Edits, Files, SlurmConf};

    /// A file.
    struct Text(&'static str);

    impl Files for Text {
        fn read(&mut self, _: &Path) -> io::Result<String> {
            Ok(self.0.to_owned())
        }

        fn matching(&mut self, _: &Path) -> Vec<PathBuf> {
            Vec::new()
        }
    }

    #[test]
    fn cli_slurm_conf_edits_leave_all_other_bytes() {
        for (text, key, value, new) in [
            ("A=Gres Gres=1", "Gres", "x", "A=Gres Gres=1"),
            (
                "SelectType = a/b \t# x\r\nB=1\r\n",
                "SelectType",
                "a/vipu",
                "SelectType = a/vipu \t# x\r\nB=1\r\n",
            ),
            (
                "nodename=n gres=a:1,\\ # c\r\nb:64 Reason=\"\\#\"",
                "gres",
                "a:1,b:n:64",
                "nodename=n gres=a:1,\\ # c\r\nb:n:64 Reason=\"\\#\"",
            ),
            ("NodeName=n Feature=a Gres=a", "Gres", "a,b", "NodeName=n Feature=a Gres=a,b"),
            ("NodeName=n Gres=vi\\\npu:64 # é\nB=1", "Gres", "x", "NodeName=n Gres=x\\\n # é\nB=1"),
            ("A=\"\"", "A", "x#", "A=\"x\\#\""),
            ("A=é\\#é", "A", "é\\", "A=é\\\\"),
        ] {
            let conf = SlurmConf::read(Path::new("f"), &mut Text(text)).unwrap();
            let mut edits = Edits::new(text);
            for line in &conf.lines {
                let pairs = std::iter::once(&line.pair).chain(&line.more);
                pairs.filter(|pair| pair.is(key)).for_each(|pair| edits.set(line, pair, value));
            }
            assert_eq!(edits.apply(), new, "{text}");
        }
    }

    #[test]
    fn cli_slurm_conf_edits_of_whole_lines() {
        for (text, new) in [
            ("", "above\nend\n"),
            ("A=1", "above\nA=1\nend\n"),
            ("A=1\r\n", "above\nA=1\r\nend\n"),
            ("A=1\\\n", "above\nA=1\\\n\nend\n"),
            ("A=1\\", "above\nA=1\\\n\nend\n"),
        ] {
            let mut edits = Edits::new(text);
            edits.add("end");
            edits.add_above(1, "above");
            assert_eq!(edits.apply(), new, "{text:?}");
        }
        let text = "A=1\nB=1 \\\n2\nC=1";
        let conf = SlurmConf::read(Path::new("f"), &mut Text(text)).unwrap();
        let mut edits = Edits::new(text);
        conf.all("B").for_each(|line| edits.remove(&line.place, line.count));
        assert_eq!(edits.apply(), "A=1\nC=1");
    }
}
