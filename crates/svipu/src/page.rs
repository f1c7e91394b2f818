//! The text that a command prints.

use crate::safe;

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
}

impl Tone {
    /// The parameters of the terminal's escape sequence SGR.
    const fn code(self) -> &'static str {
        match self {
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
        }
    }
}

/// The text that a command prints. All of it passes through [`safe::cut`] on its way in.
pub(crate) struct Page {
    text: String,
    colour: bool,
    utf8: bool,
}

impl Page {
    pub(crate) fn new(colour: bool, utf8: bool) -> Self {
        Self { text: String::new(), colour, utf8 }
    }

    /// Whether bars consist of coloured blocks. Otherwise they consist of letters.
    pub(crate) fn has_blocks(&self) -> bool {
        self.colour && self.utf8
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, text: &str) {
        self.toned(&[(Tone::Plain, text)]);
    }

    /// Adds a line of pieces, each with its colour.
    pub(crate) fn toned(&mut self, pieces: &[(Tone, &str)]) {
        for (tone, text) in pieces.iter().filter(|(_, text)| !text.is_empty()) {
            self.piece(*tone, safe::cut(text, safe::LINE));
        }
        if !self.colour {
            self.text.truncate(self.text.trim_end_matches(' ').len());
        }
        self.text.push('\n');
    }

    /// Adds a line of a file whole. Its tabs stay.
    pub(crate) fn line_of_file(&mut self, tone: Tone, line: &str) {
        let pieces: Vec<_> = line.split('\t').map(|piece| safe::cut(piece, usize::MAX)).collect();
        self.piece(tone, pieces.join("\t"));
        self.text.push('\n');
    }

    /// Adds a safe text.
    fn piece(&mut self, tone: Tone, text: String) {
        let text = if self.utf8 { text } else { safe::ascii(&text) };
        match self.colour && tone != Tone::Plain {
            true => self.text += &format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code()),
            false => self.text += &text,
        }
    }

    /// Ends the page.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}
