//! Makes names of the document fit for labels.

/// The greatest length of a label's value in characters.
const MOST: usize = 100;

/// The name without control characters, cut to a bounded length.
pub(crate) fn label(name: &str) -> String {
    name.chars().take(MOST).map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}
