//! The text that a command prints.

use std::borrow::Cow;

use clap::ValueEnum;
use serde::Deserialize;

use crate::safe;
use crate::surroundings::Surroundings;

/// The columns of a terminal.
pub(crate) const COLUMNS: usize = 80;

/// The greatest width of a paragraph before it is wrapped.
const MOST_TEXT: usize = 2000;

/// A mark with its colour.
pub(crate) type Cell = (char, Tone);

/// The colour of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    Alarm,
    /// A block in this colour of [`PALETTE`]. The reader's own jobs are bold.
    Job {
        colour: usize,
        own: bool,
    },
}

/// The colours of jobs, as numbers of the 256 colours of terminals. They are those of Okabe and Ito that black letters
/// can be read on: people tell them apart with each kind of colour blindness.
/// <https://jfly.uni-koeln.de/color/>
pub(crate) const PALETTE: [u8; 6] = [74, 214, 36, 175, 227, 166];

/// The black of the letters on them. The usual black is grey where terminals draw bold texts brighter.
pub(crate) const BLACK: u8 = 16;

impl Tone {
    /// The parameters of the terminal's escape sequence SGR.
    fn code(self) -> Cow<'static, str> {
        let fixed = match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Magenta => "35",
            Self::Cyan => "36",
            Self::Alarm => "1;31",
            Self::Job { colour, own } => {
                let bold = if own { "1;" } else { "" };
                return format!("{bold}38;5;{BLACK};48;5;{}", PALETTE[colour]).into();
            }
        };
        fixed.into()
    }
}

/// The condition for colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Colours {
    #[default]
    Auto,
    Always,
    Never,
}

impl Colours {
    /// Whether svipu uses colours.
    pub(crate) fn are_used(self, surroundings: &Surroundings) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => surroundings.terminal && surroundings.variable("NO_COLOR").is_none(),
        }
    }
}

/// A line: pieces of text, each with its colour.
pub(crate) type Line = Vec<(Tone, String)>;

/// The columns of a line.
pub(crate) fn width(line: &Line) -> usize {
    line.iter().map(|(_, text)| safe::width(text)).sum()
}

/// The text that a command prints. All of it passes through [`safe::cut`] on its way in.
pub(crate) struct Page {
    lines: Vec<Line>,
    colour: bool,
    utf8: bool,
}

impl Page {
    pub(crate) fn new(colour: bool, utf8: bool) -> Self {
        Self { lines: Vec::new(), colour, utf8 }
    }

    /// Whether bars consist of coloured blocks. Otherwise they consist of letters.
    pub(crate) fn has_blocks(&self) -> bool {
        self.colour && self.utf8
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, text: &str) {
        self.toned(&[(Tone::Plain, text)]);
    }

    /// Adds a line for each member.
    pub(crate) fn fields(&mut self, members: &[(&str, String)]) {
        for (name, value) in members {
            self.line(&format!("  {name:<16} {}", safe::cut(value, safe::LINE - 40)));
        }
    }

    /// Adds whole sentences, in lines that fit a terminal.
    pub(crate) fn paragraph(&mut self, text: &str) {
        self.wrapped(Tone::Plain, text, "", "");
    }

    /// Adds whole sentences as an item of a list.
    pub(crate) fn item(&mut self, text: &str) {
        self.wrapped(Tone::Plain, text, "  - ", "    ");
    }

    /// Adds an item of a list without a mark, in lines that fit a terminal. It keeps the blanks at its beginning.
    pub(crate) fn indented(&mut self, tone: Tone, text: &str) {
        let words = text.trim_start_matches(' ');
        let first = " ".repeat(text.len() - words.len());
        self.wrapped(tone, words, &first, &format!("{first}  "));
    }

    fn wrapped(&mut self, tone: Tone, text: &str, first: &str, others: &str) {
        // Dates and places have hyphens.
        let options = textwrap::Options::new(COLUMNS)
            .initial_indent(first)
            .subsequent_indent(others)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        let text = safe::cut(text, MOST_TEXT);
        textwrap::wrap(&text, options).iter().for_each(|line| self.toned(&[(tone, line)]));
    }

    /// Adds a line of pieces, each with its colour.
    pub(crate) fn toned(&mut self, pieces: &[(Tone, &str)]) {
        let shown = |text: &str| self.shown(safe::cut(text, safe::LINE));
        let pieces = pieces.iter().filter(|(_, text)| !text.is_empty());
        let line = pieces.map(|(tone, text)| (*tone, shown(text))).collect();
        self.lines.push(line);
    }

    /// Adds groups of pieces beside each other, in lines of so many columns. Returns the number of the lines.
    pub(crate) fn packed(
        &mut self,
        groups: impl IntoIterator<Item = Line>,
        indent: &str,
        columns: usize,
    ) -> usize {
        let mut lines: Vec<Line> = Vec::new();
        for mut group in groups {
            let room = columns.saturating_sub(2 + width(&group));
            if let Some(line) = lines.last_mut().filter(|line| width(line) <= room) {
                line.push((Tone::Plain, "  ".to_owned()));
                line.append(&mut group);
            } else {
                group.insert(0, (Tone::Plain, indent.to_owned()));
                lines.push(group);
            }
        }
        lines.iter().for_each(|line| self.whole(line));
        lines.len()
    }

    /// Adds a line as [`Page::toned`] does.
    pub(crate) fn whole(&mut self, line: &Line) {
        self.toned(&line.iter().map(|(tone, text)| (*tone, text.as_str())).collect::<Vec<_>>());
    }

    /// The lines, for a screen that colours them itself.
    pub(crate) fn lines(self) -> Vec<Line> {
        self.lines
    }

    /// Adds a line of single marks. Neighbours of one colour make one piece.
    pub(crate) fn cells(&mut self, label: &str, cells: impl Iterator<Item = Cell>) {
        let mut pieces: Vec<(Tone, String)> = vec![(Tone::Plain, label.to_owned())];
        for (mark, tone) in cells {
            match pieces.last_mut().filter(|(last, _)| *last == tone) {
                Some((_, text)) => text.push(mark),
                None => pieces.push((tone, mark.to_string())),
            }
        }
        let pieces: Vec<_> = pieces.iter().map(|(tone, text)| (*tone, text.as_str())).collect();
        self.toned(&pieces);
    }

    /// Adds a line of a file whole. Its tabs stay.
    pub(crate) fn line_of_file(&mut self, tone: Tone, line: &str) {
        let pieces: Vec<_> = line.split('\t').map(|piece| safe::cut(piece, usize::MAX)).collect();
        self.lines.push(vec![(tone, self.shown(pieces.join("\t")))]);
    }

    /// A safe text in letters that the terminal has.
    fn shown(&self, text: String) -> String {
        if self.utf8 { text } else { safe::ascii(&text) }
    }

    /// Ends the page.
    pub(crate) fn finish(self) -> String {
        let piece = |(tone, text): &(Tone, String)| match self.colour && *tone != Tone::Plain {
            true => format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code()),
            false => text.clone(),
        };
        let line = |line: &Line| {
            let text: String = line.iter().map(piece).collect();
            if self.colour { text } else { text.trim_end_matches(' ').to_owned() }
        };
        self.lines.iter().map(|it| line(it) + "\n").collect()
    }
}
