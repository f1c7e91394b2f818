//! The key that somebody probably meant.

use crate::keys::KEYS;

/// The name of a key that `text` is a likely misspelling of.
pub(crate) fn nearest_key(text: &str) -> Option<&'static str> {
    // A key is at most 20 characters: comparing more would only cost time.
    let text: Vec<char> = text.to_ascii_lowercase().chars().take(40).collect();
    let names = KEYS.iter().flat_map(|key| key.names());
    let (distance, name) = names.map(|name| (distance(&text, name), name)).min()?;
    (distance <= 1 + name.len() / 4).then_some(name)
}

/// The number of single-character edits between `text` and `name`, whose case is ignored.
fn distance(text: &[char], name: &str) -> usize {
    let mut row: Vec<usize> = (0..=text.len()).collect();
    for (line, wanted) in name.to_ascii_lowercase().chars().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        for (found, cell) in text.iter().zip(&mut row[1..]) {
            let changed = diagonal + usize::from(*found != wanted);
            diagonal = *cell;
            left = changed.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
        row[0] = line + 1;
    }
    row[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (text, name, edits) in
            [("", "abc", 3), ("abc", "", 3), ("abc", "ABC", 0), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            let text: Vec<char> = text.chars().collect();
            assert_eq!(distance(&text, name), edits, "{text:?} {name}");
        }
    }

    #[test]
    fn misspellings_find_their_key_and_others_none() {
        assert_eq!(nearest_key("apiprt"), Some("ApiPort"));
        assert_eq!(nearest_key("IpuOfDirectory"), None);
        assert_eq!(nearest_key("MaxIPUperJob"), Some("MaxIpusPerJob"));
        assert_eq!(nearest_key("SelectType"), None);
    }
}
