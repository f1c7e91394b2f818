//! Texts of users, in a form that is safe to show.

/// The longest text that is shown whole, in characters.
const LONGEST: usize = 80;

/// The text in a form for an error line. Control characters are escaped, so that they neither end the line
/// nor control a terminal. Text after 80 characters is cut off.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(LONGEST).flat_map(visible).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown
}

fn visible(c: char) -> impl Iterator<Item = char> {
    // In Unicode, marks that change the direction of a text are not control characters.
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let escaped = (c.is_control() || turns).then(|| c.escape_default());
    let plain = escaped.is_none().then_some(c);
    escaped.into_iter().flatten().chain(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_text_is_one_short_line() {
        assert_eq!(shown("vipu:pod/64 \u{e4} 'x'"), "vipu:pod/64 \u{e4} 'x'");
        assert_eq!(shown("a\nb\x1b[31m\u{202e}"), r"a\nb\u{1b}[31m\u{202e}");
        assert_eq!(shown(&"x".repeat(80)), "x".repeat(80));
        assert_eq!(shown(&"x".repeat(1 << 20)).len(), 83);
    }
}
