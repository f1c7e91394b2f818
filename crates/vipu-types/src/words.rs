//! Texts for people.

use std::fmt;
use std::ops::Deref;

/// One line of text for an administrator or a user. The macro [`words!`](crate::words!) makes one as `format!` makes a
/// `String`.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Words(String);

impl Words {
    /// The text of an error.
    pub fn of<E: fmt::Display>(error: E) -> Self {
        error.to_string().into()
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

fn is_hostile(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl From<String> for Words {
    /// A text of several lines becomes one line. Characters that control a terminal or turn the direction of a text become
    /// blanks: a controller may say anything.
    fn from(text: String) -> Self {
        let text = if text.contains('\n') {
            text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
        } else {
            text
        };
        Self(if text.contains(is_hostile) { text.replace(is_hostile, " ") } else { text })
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Words> for String {
    fn from(words: Words) -> Self {
        words.0
    }
}

impl Deref for Words {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<T: AsRef<str>> PartialEq<T> for Words {
    fn eq(&self, text: &T) -> bool {
        self.0 == text.as_ref()
    }
}

/// Makes [`Words`] of a format string and its arguments.
#[macro_export]
macro_rules! words {
    ($($text:tt)+) => { $crate::Words::from(::std::format!($($text)+)) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_one_line() {
        assert_eq!(words!("{}:\r\n  {}\n", "a", "b"), "a: b");
    }
}
