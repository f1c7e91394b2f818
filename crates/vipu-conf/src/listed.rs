//! All keys with their values as a file writes them.

use crate::keys::{KEYS, Key, Preset};
use crate::settings::Given;

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The key.
    pub key: &'static Key,
    /// The value as the file or the key's default writes it; `None` if there is none.
    pub value: Option<String>,
    /// The line of the file that gives the value; `None` for a default.
    pub line: Option<usize>,
}

/// Lists the keys with the values that the text of a good file gives them: those of the file in its order,
/// then the others.
pub fn listed(text: &str) -> Vec<Listed> {
    let (given, _) = Given::sort(text);
    let listed = |key: &'static Key| match (given.written(key), key.preset) {
        (Some((value, line)), _) => Listed { key, value: Some(value.to_owned()), line: Some(line) },
        (None, Preset::Value(value)) => Listed { key, value: Some(value.to_owned()), line: None },
        (None, _) => Listed { key, value: None, line: None },
    };
    let mut all: Vec<_> = KEYS.iter().map(listed).collect();
    all.sort_by_key(|entry| entry.line.unwrap_or(usize::MAX));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_conf_keys_are_listed_with_their_lines() {
        let all = listed("# x\napiport=1\nApiHost=\"a\" \\\n IpuofDir=/x\n");
        let shown = |entry: &Listed| format!("{} {:?} {:?}", entry.key.name, entry.value, entry.line);
        assert_eq!(
            all.iter().take(4).map(shown).collect::<Vec<_>>(),
            [
                "ApiPort Some(\"1\") Some(2)",
                "ApiHost Some(\"a\") Some(3)",
                "IpuofDir Some(\"/x\") Some(4)",
                "Nodes None None",
            ]
        );
        assert_eq!(all.len(), KEYS.len());
        assert!(all.iter().any(|entry| entry.key.name == "Allocation" && entry.value.is_none()));
    }
}
