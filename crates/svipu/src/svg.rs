//! Pictures in SVG, readable on light and on dark pages.

use std::fmt::Write as _;

use crate::page::Tone;
use crate::safe;

/// The width of a character and the height of a line, in the units of the picture.
pub(crate) const CHARACTER: usize = 8;
pub(crate) const LINE: usize = 20;

/// The side of the square of an IPU or of an entry of a legend.
pub(crate) const SIDE: usize = 16;

/// The entries of a legend at most, those beside each other, and the width of one.
const MOST_ENTRIES: usize = 64;
const BESIDE: usize = 3;
const ENTRY: usize = 45 * CHARACTER;

/// The space around the picture.
const MARGIN: usize = 12;

/// The colours. A free IPU has class `t2`, a leaving one `t6`, and so on: the number of its [`Tone`]. A text in the same
/// tone has class `c6`. Jobs have `j0` and so on, with texts in black (`k`). In most fonts, 13.3px make a character 8 wide.
const STYLE: &str = "\
text{font:13.3px ui-monospace,monospace;fill:#1f2328}.b{font-weight:bold}.d{fill:#59636e}.m{text-anchor:middle}\
.page{fill:#fff}.axis{fill:#d1d9e0}.t0{fill:#b1bac4}.t2{fill:#e6eaef}.t3{fill:#f4a3a0}.t4{fill:#a6e0b1}.t5{fill:#f2da88}\
.t6{fill:#b3d1ff}.t7{fill:#e3c2f5}.t8{fill:#a5e3ea}.t9{fill:#ffc9a3}\
.c3{fill:#cf222e}.c4{fill:#1a7f37}.c5{fill:#9a6700}.c6{fill:#0969da}.c7{fill:#8250df}.c8{fill:#1b7c83}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.d{fill:#9198a1}.page{fill:#0d1117}.axis{fill:#3d444d}\
.t0{fill:#57606a}.t2{fill:#21262d}.t3{fill:#a02c2c}.t4{fill:#1f6f3a}.t5{fill:#7a5b00}.t6{fill:#1f4f99}.t7{fill:#6b3f8c}\
.t8{fill:#12636d}.t9{fill:#94501a}.c3{fill:#ff7b72}.c4{fill:#3fb950}.c5{fill:#d29922}.c6{fill:#58a6ff}.c7{fill:#bc8cff}\
.c8{fill:#39c5cf}}\
.j0{fill:#56b4e9}.j1{fill:#e69f00}.j2{fill:#009e73}.j3{fill:#cc79a7}.j4{fill:#f0e442}.j5{fill:#d55e00}.k{fill:#000}";

/// The class of an area in a tone, and those of a text on it or in it.
fn classes(tone: Tone) -> (&'static str, &'static str) {
    match tone {
        Tone::Plain => ("t0", ""),
        Tone::Bold => ("t1", "b"),
        Tone::Dim => ("t2", "d"),
        Tone::Red => ("t3", "c3"),
        Tone::Green => ("t4", "c4"),
        Tone::Yellow => ("t5", "c5"),
        Tone::Blue => ("t6", "c6"),
        Tone::Magenta => ("t7", "c7"),
        Tone::Cyan => ("t8", "c8"),
        Tone::Alarm => ("t9", "b c3"),
        Tone::Job { colour, own } => {
            (["j0", "j1", "j2", "j3", "j4", "j5"][colour], if own { "k b" } else { "k" })
        }
    }
}

/// A picture that grows with what is put into it.
pub(crate) struct Svg {
    body: String,
    width: usize,
    /// The lower edge, where the next part begins.
    pub(crate) height: usize,
}

/// An entry of a legend.
pub(crate) struct Entry {
    pub(crate) tone: Tone,
    pub(crate) mark: String,
    pub(crate) words: String,
}

/// A rectangle.
#[derive(Clone, Copy)]
pub(crate) struct Area {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Svg {
    pub(crate) fn new() -> Self {
        Self { body: String::new(), width: 0, height: LINE }
    }

    /// Adds a line of text. `y` is the top of the line.
    pub(crate) fn text(&mut self, x: usize, y: usize, tone: Tone, text: &str) {
        let class = match classes(tone).1 {
            "" => String::new(),
            class => format!(" class=\"{class}\""),
        };
        let text = safe::cut(text, safe::LINE);
        let (y, width, text) = (y + 14, CHARACTER * safe::width(&text), escaped(&text));
        self.reach(x + width, y - 14 + LINE);
        let _ = writeln!(self.body, "<text x=\"{x}\" y=\"{y}\" textLength=\"{width}\"{class}>{text}</text>");
    }

    /// Adds a coloured area with a text in its middle, and a longer one that a pointer shows.
    pub(crate) fn area(&mut self, area: Area, tone: Tone, text: &str, title: &str) {
        let Area { x, y, width, height } = area;
        self.reach(x + width, y + height);
        let class = classes(tone).0;
        let _ = write!(
            self.body,
            "<g><title>{}</title><rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             rx=\"2\"/>",
            escaped(title)
        );
        if !text.is_empty() {
            let (middle, base) = (x + width / 2, y + height / 2 + 5);
            let class = match tone {
                Tone::Job { own: true, .. } => "m k b",
                Tone::Job { .. } => "m k",
                _ => "m",
            };
            let text = escaped(text);
            let _ = write!(self.body, "<text class=\"{class}\" x=\"{middle}\" y=\"{base}\">{text}</text>");
        }
        self.body += "</g>\n";
    }

    /// Adds a thin upright line.
    pub(crate) fn mark(&mut self, x: usize, y: usize, height: usize) {
        let _ =
            writeln!(self.body, "<rect class=\"axis\" x=\"{x}\" y=\"{y}\" width=\"1\" height=\"{height}\"/>");
    }

    /// Adds a legend below.
    pub(crate) fn legend(&mut self, entries: &[Entry]) {
        let top = self.height + LINE / 2;
        let shown = entries.len().min(MOST_ENTRIES);
        for (number, Entry { tone, mark, words }) in entries[..shown].iter().enumerate() {
            let (x, y) = (number % BESIDE * ENTRY, top + number / BESIDE * LINE);
            self.area(Area { x, y, width: SIDE, height: SIDE }, *tone, mark, words);
            self.text(x + LINE, y, Tone::Plain, words);
        }
        if entries.len() > shown {
            self.text(0, self.height, Tone::Dim, &format!("and {} more", entries.len() - shown));
        }
    }

    fn reach(&mut self, x: usize, y: usize) {
        (self.width, self.height) = (self.width.max(x), self.height.max(y));
    }

    /// The picture as a file, with a line about its age unless it tells it elsewhere.
    pub(crate) fn finish(mut self, name: &str, age: Option<&str>) -> String {
        if let Some(age) = age {
            self.text(0, 0, Tone::Dim, &format!("{name}, {age}"));
        }
        let (width, height) = (self.width + 2 * MARGIN, self.height + 2 * MARGIN);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"-{MARGIN} -{MARGIN} {width} {height}\" role=\"img\">\n<title>{name}</title>\n\
             <style>{STYLE}</style>\n<rect class=\"page\" x=\"-{MARGIN}\" y=\"-{MARGIN}\" width=\"{width}\" \
             height=\"{height}\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// A text as XML has it.
fn escaped(text: &str) -> String {
    let mut xml = String::new();
    for character in safe::cut(text, safe::LINE).chars() {
        match character {
            '<' => xml += "&lt;",
            '>' => xml += "&gt;",
            '&' => xml += "&amp;",
            '"' => xml += "&quot;",
            _ => xml.push(character),
        }
    }
    xml
}
