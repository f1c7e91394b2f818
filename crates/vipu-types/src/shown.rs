//! What somebody wrote, as others may be shown it.

/// Longer texts are cut.
const LONGEST: usize = 80;

/// The text as it fits into an error line: control characters escaped, so that it can neither end the line
/// nor command a terminal, and cut after 80 characters.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(LONGEST).flat_map(visible).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown
}

fn visible(c: char) -> impl Iterator<Item = char> {
    // Marks that turn the direction of a text are no control characters to Unicode.
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let escaped = (c.is_control() || turns).then(|| c.escape_default());
    let plain = escaped.is_none().then_some(c);
    escaped.into_iter().flatten().chain(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_one_short_line() {
        assert_eq!(shown("vipu:pod/64 \u{e4} 'x'"), "vipu:pod/64 \u{e4} 'x'");
        assert_eq!(shown("a\nb\x1b[31m\u{202e}"), r"a\nb\u{1b}[31m\u{202e}");
        assert_eq!(shown(&"x".repeat(80)), "x".repeat(80));
        assert_eq!(shown(&"x".repeat(1 << 20)).len(), 83);
    }
}
