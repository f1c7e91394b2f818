//! Checks that the book has each message: a search for its fixed words finds a page.
//!
//! The messages are those of errors (`#[error("...")]`) and of the lines of logs (`error!`, `warn!`, `log::error`). Text that a
//! message takes from elsewhere is not seen, nor is text that has no fixed words.

use std::fs;

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprCall, ItemFn, ItemMod, LitStr, Macro, Meta};

use crate::page_links::Page;
use crate::run;
use crate::rust_paths::is_of_tests;

/// Code whose messages no user and no administrator gets. Those of the ledger's invariants end a line that begins with
/// `internal error, please report`.
const OWN: [&str; 8] = [
    "crates/failpoints/",
    "crates/fuzz/",
    "crates/mock-vipu/",
    "crates/scoreboard/",
    "crates/simulate/",
    "crates/testbed/",
    "crates/xtask/",
    "crates/ledger/src/invariant.rs",
];

/// The fewest characters of words for which somebody can search.
const FEWEST: usize = 12;

/// The messages of a file, with `{...}` for what varies.
#[derive(Default)]
struct Messages(Vec<String>);

impl Messages {
    /// Adds the first text among the arguments of a macro or an attribute.
    fn add(&mut self, arguments: impl IntoIterator<Item = impl ToString>) {
        let text = |word: &_| syn::parse_str::<LitStr>(&ToString::to_string(word)).ok();
        self.0.extend(arguments.into_iter().find_map(|word| text(&word)).map(|text| text.value()));
    }
}

impl<'a> Visit<'a> for Messages {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        if let Meta::List(list) = &attribute.meta
            && list.path.is_ident("error")
        {
            self.add(list.tokens.clone());
        }
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        if call.path.segments.last().is_some_and(|name| name.ident == "error" || name.ident == "warn") {
            self.add(call.tokens.clone());
        }
    }

    fn visit_expr_call(&mut self, call: &'a ExprCall) {
        visit::visit_expr_call(self, call);
        let Expr::Path(function) = &*call.func else { return };
        let names: Vec<_> = function.path.segments.iter().map(|name| name.ident.to_string()).collect();
        if !names.ends_with(&["log".to_owned(), "error".to_owned()]) {
            return;
        }
        if let Some(Expr::Reference(text)) = call.args.first()
            && let Expr::Macro(text) = &*text.expr
        {
            self.add(text.mac.tokens.clone());
        }
    }
}

/// The longest run of words without `{...}`. `None` if nobody could search for it.
fn fixed_words(message: &str) -> Option<String> {
    let message = message.replace("{{", "").replace("}}", "");
    let pieces = message.split('{').enumerate().map(|(n, piece)| match n {
        0 => piece,
        _ => piece.split_once('}').map_or("", |(_, rest)| rest),
    });
    let longest = pieces.map(words).max_by_key(String::len)?;
    (longest.len() >= FEWEST).then_some(longest)
}

/// The text without line ends, marks of code, and punctuation at its ends.
fn words(text: &str) -> String {
    let text = text.replace(['`', '\\'], "");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim_matches(|character: char| !character.is_alphanumeric()).to_owned()
}

fn source_files() -> impl Iterator<Item = String> {
    let is_shown = |path: &String| !OWN.iter().any(|own| path.starts_with(own)) && !path.contains("tests");
    run::tracked(&["crates/*/src/*.rs"]).unwrap().into_iter().filter(is_shown)
}

/// The words of all pages that book/SUMMARY.md names.
fn book() -> String {
    let folder = run::workspace().join("book");
    let summary = Page::read(&fs::read_to_string(folder.join("SUMMARY.md")).unwrap());
    let pages = summary.links.iter().map(|link| fs::read_to_string(folder.join(link)).unwrap());
    pages.map(|page| words(&page)).collect()
}

fn messages(file: &str) -> Vec<String> {
    let text = fs::read_to_string(run::workspace().join(file)).unwrap();
    let mut messages = Messages::default();
    messages.visit_file(&syn::parse_str(&text).unwrap());
    messages.0
}

#[test]
fn user_book_has_each_message() {
    let book = book();
    let mut missing = Vec::new();
    let mut count = 0;
    for file in source_files() {
        for words in messages(&file).iter().filter_map(|message| fixed_words(message)) {
            count += 1;
            if !book.contains(&words) {
                missing.push(format!("{file}: {words}"));
            }
        }
    }
    assert!(count > 150, "{count} messages");
    assert!(missing.is_empty(), "add to docs/messages.md:\n{}", missing.join("\n"));
}

#[test]
fn cli_fixed_words_are_the_longest() {
    let message = "{path}: {why}; {count} such lines are passed over, the file is kept as {bad}";
    assert_eq!(fixed_words(message).unwrap(), "such lines are passed over, the file is kept as");
    assert_eq!(fixed_words("{path}: {why}"), None);
}
