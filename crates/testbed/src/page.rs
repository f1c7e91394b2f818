//! The commands of pages, for tests that run them.

/// The lines of indented blocks, and the code in sentences and tables, in the order of the page.
pub fn code(page: &str) -> impl Iterator<Item = String> {
    page.lines().flat_map(of_line)
}

/// The lines of indented blocks, and the code in tables. A sentence often names a command without its arguments.
pub fn code_outside_sentences(page: &str) -> impl Iterator<Item = String> {
    page.lines().filter(|line| line.starts_with("    ") || line.starts_with('|')).flat_map(of_line)
}

fn of_line(line: &str) -> Vec<String> {
    match line.strip_prefix("    ") {
        Some(block) => vec![block.to_owned()],
        // A table writes `\|` for a pipe.
        None => line.split('`').skip(1).step_by(2).map(|code| code.replace("\\|", "|")).collect(),
    }
}

#[test]
fn blocks_sentences_and_tables_have_code() {
    let page = "Run `a b`, then\n\n    c `d`\n\n| x | `e \\| f` |\n";
    assert_eq!(code(page).collect::<Vec<_>>(), ["a b", "c `d`", "e | f"]);
    assert_eq!(code_outside_sentences(page).collect::<Vec<_>>(), ["c `d`", "e | f"]);
}
