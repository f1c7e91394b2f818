//! Reads the paths that a Rust file names from its text. Comments, literals and `#[cfg(test)]` items are left
//! out.

/// Words joined by `::`.
pub type Words = Vec<String>;

#[derive(Default)]
pub struct Paths {
    pub used: Vec<Words>,
    /// Names that the file exports by `pub use`, with the path of each.
    pub re_exported: Vec<(String, Words)>,
}

pub fn read(text: &str) -> Paths {
    let (mut paths, mut words) = (Paths::default(), Vec::new());
    let mut is_public = false;
    let tokens = without_tests(tokens(text));
    let mut tokens = tokens.iter().copied();
    while let Some(token) = tokens.next() {
        if token == "use" {
            let mut tree = Vec::new();
            use_tree(&mut tokens, &[], &mut tree);
            if is_public {
                paths.re_exported.append(&mut tree);
            } else {
                paths.used.extend(tree.into_iter().map(|(_, path)| path));
            }
        } else if is_word(token) {
            let path = split(token);
            words.push(path[0].clone());
            paths.used.extend((path.len() > 1).then_some(path));
        }
        // `pub(crate) use` counts as public, too.
        is_public = token == "pub" || (is_public && ["(", "crate", "super", "self", ")"].contains(&token));
    }
    // The file may use a name that it exports.
    let own = paths.re_exported.iter().filter(|(name, _)| words.contains(name));
    paths.used.extend(own.map(|(_, path)| path.clone()));
    paths
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

fn split(path: &str) -> Words {
    path.split("::").filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Splits the text into whole paths, for example `crate::job::`, and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let behind = |end: &str| rest.find(end).map_or(rest.len(), |at| at + end.len());
        let is_character = || rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\'');
        let (length, is_token) = match first {
            _ if rest.starts_with("//") => (behind("\n"), false),
            _ if rest.starts_with("/*") => (behind("*/"), false),
            _ if rest.starts_with("r#\"") => (behind("\"#"), false),
            '"' => (quoted(rest), false),
            '\'' if is_character() => (quoted(rest), false),
            _ if is_word(rest) => (path(rest), true),
            _ => (first.len_utf8(), !first.is_whitespace()),
        };
        let (token, after) = rest.split_at(length);
        tokens.extend(is_token.then_some(token));
        rest = after;
    }
    tokens
}

/// The length of the path that `text` begins with. A single colon is no part of it.
fn path(text: &str) -> usize {
    let end = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let length = text.find(end).unwrap_or(text.len());
    if text[length..].starts_with("::") { length + 2 + path(&text[length + 2..]) } else { length }
}

/// The length of the literal that `text` begins with. The first character is the quote that ends it.
fn quoted(text: &str) -> usize {
    let quote = text.chars().next();
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, letter)| {
        let is_end = !is_escaped && Some(*letter) == quote;
        is_escaped = !is_escaped && *letter == '\\';
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// Leaves out items marked `#[cfg(test)]`: each up to the end of its first block, or to a semicolon before
/// that.
fn without_tests(tokens: Vec<&str>) -> Vec<&str> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut rest) = (Vec::new(), &tokens[..]);
    while let Some((first, after)) = rest.split_first() {
        if rest.starts_with(&MARK) {
            let mut depth = 0;
            let end = rest.iter().position(|token| {
                depth += i32::from(*token == "{") - i32::from(*token == "}");
                depth == 0 && ["}", ";"].contains(token)
            });
            rest = &rest[end.map_or(rest.len(), |at| at + 1)..];
        } else {
            kept.push(*first);
            rest = after;
        }
    }
    kept
}

/// Reads a tree of `use` to its end, and adds each name with its path.
fn use_tree<'a>(
    tokens: &mut impl Iterator<Item = &'a str>,
    base: &[String],
    tree: &mut Vec<(String, Words)>,
) {
    let (mut path, mut name) = (base.to_vec(), None);
    while let Some(token) = tokens.next() {
        match token {
            "{" => {
                use_tree(tokens, &path, tree);
                (path, name) = (base.to_vec(), None);
            }
            "as" => name = tokens.next().map(str::to_owned),
            "," | "}" | ";" => {
                tree.extend(name.take().map(|name| (name, path)));
                path = base.to_vec();
                if token != "," {
                    return;
                }
            }
            word => {
                // `job::{self}` names the path `job`.
                let inside =
                    split(word).into_iter().filter(|word| word != "*" && (word != "self" || path.is_empty()));
                path.extend(inside.collect::<Vec<_>>());
                name = path.last().cloned();
            }
        }
    }
}
