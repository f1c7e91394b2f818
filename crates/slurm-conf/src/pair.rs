//! One `Key=Value`.

use crate::physical_lines::is_blank;

/// `Key=Value`, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The key. Its case does not matter.
    pub key: String,
    /// The character before the sign, as in `Key+=Value`.
    pub operator: Option<char>,
    /// The value, without quotes.
    pub value: String,
}

impl Pair {
    /// Whether the key is this one.
    pub fn is(&self, key: &str) -> bool {
        self.key.eq_ignore_ascii_case(key)
    }
}

/// The first pair of a text, and what follows it.
pub(crate) fn first(text: &str) -> Option<(Pair, &str)> {
    let text = text.trim_start_matches(is_blank);
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let (key, rest) = text.split_at(text.find(|c| !is_of_key(c))?);
    let rest = rest.trim_start_matches(is_blank);
    let operator = rest.chars().next().filter(|c| "-*+/".contains(*c));
    let rest = rest.strip_prefix(['-', '*', '+', '/']).unwrap_or(rest);
    let rest = rest.strip_prefix('=')?.trim_start_matches(is_blank);
    let (value, rest) = quoted(rest).or_else(|| bare(rest))?;
    let pair = Pair { key: key.to_owned(), operator, value: value.to_owned() };
    (!key.is_empty()).then_some((pair, rest))
}

/// The value in quotes, and what follows it. A closing quote ends the value only before a blank.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (value, rest) = text.strip_prefix('"')?.split_once('"')?;
    (rest.is_empty() || rest.starts_with(is_blank)).then_some((value, rest))
}

/// The value without quotes, and what follows it.
fn bare(text: &str) -> Option<(&str, &str)> {
    let (value, rest) = text.split_at(text.find(is_blank).unwrap_or(text.len()));
    (!value.is_empty()).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_slurm_conf_pairs_are_read_as_slurm_reads_them() {
        for (text, key, operator, value, rest) in [
            ("a=1", "a", None, "1", ""),
            (" A_b.2 = x=y z", "A_b.2", None, "x=y", " z"),
            ("a=\"x y\" b", "a", None, "x y", " b"),
            ("a=\"\"", "a", None, "", ""),
            ("a=\"x y\"z", "a", None, "\"x", " y\"z"),
            ("a=\"x y", "a", None, "\"x", " y"),
            ("a += 1", "a", Some('+'), "1", ""),
            ("a=é\u{a0}", "a", None, "é\u{a0}", ""),
        ] {
            let pair = Pair { key: key.into(), operator, value: value.into() };
            assert_eq!(first(text), Some((pair, rest)), "{text}");
        }
        for none in ["", "a", "a=", "a= ", "=1", "a b=1", "é=1", "a++=1", "-=1"] {
            assert_eq!(first(none), None, "{none}");
        }
    }
}
