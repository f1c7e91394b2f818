//! The README's table of keys is the one the parser goes by.

use std::path::Path;

use conf::{KEYS, Preset};

#[test]
fn the_readme_lists_every_key_as_it_is() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let table: Vec<_> = readme
        .lines()
        .skip_while(|line| *line != "| key | default | unit | meaning |")
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .collect();
    let keys = KEYS.map(|key| {
        let default = match key.preset {
            Preset::Required => "required".to_owned(),
            Preset::Value(text) => format!("`{text}`"),
            Preset::Absent(meaning) => meaning.to_owned(),
        };
        format!("| `{}` | {default} | {} | {} |", key.name, key.unit, key.help)
    });
    assert_eq!(table, keys);
}
