//! The tables of docs/configuration.md list the keys that the parser knows.

use std::path::Path;

use vipu_conf::{KEYS, Key, Preset};

#[test]
fn the_configuration_page_lists_every_key_as_it_is() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = std::fs::read_to_string(page).unwrap();
    // The page has one table for each group of keys, in an order of its own. Rows of other tables begin
    // differently.
    let mut rows: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let row = |key: &Key| {
        let default = match key.preset {
            Preset::Required => "required".to_owned(),
            Preset::Value(text) => format!("`{text}`"),
            Preset::Absent(meaning) => meaning.to_owned(),
        };
        format!("| `{}` | {default} | {} | {} |", key.name, key.unit, key.help)
    };
    let mut keys: Vec<_> = KEYS.iter().map(row).collect();
    rows.sort_unstable();
    keys.sort_unstable();
    assert_eq!(rows, keys);
}
