//! Makes texts of the document safe for a terminal.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The greatest width of a piece of text. A longer one comes from nobody who wants to be read.
pub(crate) const LINE: usize = 400;

/// The text without anything that a terminal would act on, cut to `width` columns.
///
/// Control characters, marks of direction and characters without a width are escaped. The result is not
/// changed by a second call.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let mut safe = String::new();
    let mut used = 0;
    for character in text.chars() {
        let start = safe.len();
        if is_harmless(character) {
            safe.push(character);
        } else {
            let _ = write!(safe, "{}", character.escape_default());
        }
        used += safe[start..].width();
        if used > width {
            return shorten(safe, width);
        }
    }
    safe
}

/// The columns that a safe text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A safe text for a terminal that takes only ASCII.
pub(crate) fn ascii(text: &str) -> String {
    let ascii = |character: char| match character.is_ascii() {
        true => character.to_string(),
        false => "?".repeat(character.width().unwrap_or(1)),
    };
    text.chars().map(ascii).collect()
}

/// Whether a terminal just shows the character. Marks that join the character before them have no width.
fn is_harmless(character: char) -> bool {
    let directs = matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{fffe}' | '\u{ffff}'
        | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}');
    !character.is_control() && !directs && character.width().is_some_and(|width| width > 0)
}

/// Cuts a safe text that is too wide, and marks the cut.
fn shorten(mut safe: String, width: usize) -> String {
    let mark = if width > 6 { "..." } else { "" };
    while safe.width() + mark.len() > width && safe.pop().is_some() {}
    safe + mark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_svipu_texts_are_safe_for_a_terminal() {
        for (text, safe) in [
            ("plain näme", "plain näme"),
            ("a\u{1b}[2Jb\r\n\u{7f}\u{9b}", "a\\u{1b}[2Jb\\r\\n\\u{7f}\\u{9b}"),
            ("\u{202e}abc\u{2066}", "\\u{202e}abc\\u{2066}"),
            ("e\u{301}\u{200d}", "e\\u{301}\\u{200d}"),
        ] {
            assert_eq!(cut(text, 80), safe);
            assert_eq!(cut(safe, 80), safe);
        }
        assert_eq!(cut(&"x".repeat(1 << 20), 10), "xxxxxxx...");
        assert_eq!(cut(&"\u{1b}".repeat(1 << 20), 10), "\\u{1b}\\...");
        assert_eq!(cut("日本語日本語", 7), "日本...");
        assert_eq!(ascii("日x"), "??x");
    }
}
