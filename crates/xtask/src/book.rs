//! `cargo xtask book`: the pages as a book (mdBook), with a check of its links.
//!
//! mdBook wants all pages in one folder, and copies all that is in it. The pages are therefore copied to target/book/src,
//! with their folders, so that their links hold. Pages that SUMMARY.md does not name come at its end.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

use anyhow::{Context as _, Result, ensure};
use testbed::say;

use crate::run;

const VERSION: &str = "0.5.4";

/// The pages, and the files to which they lead.
const FILES: [&str; 11] = [
    "*.md",
    "docs",
    "conf",
    "packages",
    "monitoring",
    "COPYING",
    "LICENSE-*",
    "crates/*/NOTICE",
    "crates/*/examples/*",
    "crates/*/src/*",
    "tests/faults",
];

/// The name of README.md in the book. mdBook would make it index.html, which is the front page.
const OVERVIEW: &str = "overview.md";

/// Makes the book, and prints where it is.
pub fn run() -> Result<()> {
    let folder = run::workspace().join("target/book");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let source = folder.join("src");
    copy_tracked(&FILES, &source)?;
    fs::copy(run::workspace().join("book/book.toml"), folder.join("book.toml"))?;
    for page in ["front.md", "SUMMARY.md"] {
        let text = fs::read_to_string(run::workspace().join("book").join(page))?.replace("](../", "](");
        let more = if page == "SUMMARY.md" { other_pages(&text)? } else { String::new() };
        fs::write(source.join(page), (text + &more).replace("README.md", OVERVIEW))?;
    }
    fs::remove_dir_all(source.join("book"))?;
    let mut build = Command::new(mdbook()?);
    build.arg("build").arg(&folder);
    run::visibly(build)?;
    check_links(&folder.join("book"))?;
    say(format!("{}", folder.join("book/index.html").display()));
    Ok(())
}

/// The program. It is built where it is missing.
fn mdbook() -> Result<PathBuf> {
    let root = run::workspace().join("target/mdbook");
    let program = root.join("bin/mdbook");
    if !program.is_file() {
        let root = root.display().to_string();
        let features = ["--no-default-features", "--features", "search"];
        let install = ["install", "mdbook", "--version", VERSION, "--locked", "--root", &root];
        run::visibly(run::nice_cargo_command(&[&install[..], &features].concat()))?;
    }
    Ok(program)
}

/// Copies the files of the tree that git knows under these names.
fn copy_tracked(names: &[&str], to: &Path) -> Result<()> {
    for name in run::tracked(names)? {
        let copy = to.join(&name);
        let folder = copy.parent().context("a file without a folder")?;
        fs::create_dir_all(folder)?;
        fs::copy(run::workspace().join(&name), &copy)?;
        if name.ends_with(".md") {
            let text = fs::read_to_string(&copy)?.replace("README.md", OVERVIEW);
            // The front page is not in the folder "book" there.
            fs::write(&copy, text.replace("](book/", "]("))?;
        }
        if name.ends_with("README.md") {
            fs::rename(&copy, folder.join(OVERVIEW))?;
        }
    }
    Ok(())
}

/// The lines of SUMMARY.md for pages that it does not name, with their first headings.
fn other_pages(summary: &str) -> Result<String> {
    let is_other = |page: &String| !page.starts_with("book/") && !summary.contains(&format!("({page})"));
    let mut lines = vec!["\n# Further pages\n".to_owned()];
    for page in run::tracked(&["*.md"])?.into_iter().filter(is_other) {
        let text = fs::read_to_string(run::workspace().join(&page))?;
        let heading = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(&page);
        lines.push(format!("- [{heading}]({page})"));
    }
    Ok(lines.join("\n") + "\n")
}

/// Checks that each local link of the book leads to a file of the book.
fn check_links(book: &Path) -> Result<()> {
    let mut faults = Vec::new();
    for page in html(book)? {
        let text = fs::read_to_string(&page)?;
        let folder = page.parent().context("a page without a folder")?;
        for link in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let is_local = !file.is_empty() && !file.contains(':');
            // The page for lost readers is shown at any address.
            if is_local && !page.ends_with("404.html") && !folder.join(file).exists() {
                faults.push(format!("{}: {link}", page.strip_prefix(book)?.display()));
            }
        }
    }
    ensure!(faults.is_empty(), "links of the book that lead nowhere:\n{}", faults.join("\n"));
    Ok(())
}

/// The pages in a folder and those below it.
fn html(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|path| path.is_dir());
    let pages = files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "html")).collect();
    let below = folders.iter().map(|folder| html(folder));
    Ok(iter::once(Ok(pages)).chain(below).collect::<Result<Vec<_>>>()?.concat())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::page_links::{self, Page};

    #[test]
    fn user_book_has_each_file_that_a_page_leads_to() -> Result<()> {
        let has: BTreeSet<_> = run::tracked(&FILES)?.into_iter().map(PathBuf::from).collect();
        let pages = page_links::texts();
        let targets = pages.iter().flat_map(|(page, text)| {
            let links = Page::read(text).links.into_iter().filter(|link| !link.contains(':'));
            links.map(|link| page_links::target(page, &link).0)
        });
        let missing: BTreeSet<_> = targets
            .filter(|file| run::workspace().join(file).is_file())
            .filter(|file| !file.starts_with("book") && !has.contains(file))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
        Ok(())
    }
}
