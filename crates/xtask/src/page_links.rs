//! Checks the links of all pages: each file and each heading that they name exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::run;

/// A page: its links, and the anchors of its headings.
#[derive(Default)]
pub struct Page {
    pub links: Vec<String>,
    anchors: BTreeSet<String>,
}

impl Page {
    pub fn read(text: &str) -> Self {
        let (mut page, mut is_code) = (Self::default(), false);
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                if let Some(heading) = line.strip_prefix('#') {
                    page.add_anchor(heading.trim_start_matches('#'));
                }
                page.links.extend(
                    line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())),
                );
            }
        }
        page
    }

    /// Adds the anchor that renderers give a heading: its words in lower case, joined by hyphens. A second heading with
    /// the same words gets a number.
    fn add_anchor(&mut self, heading: &str) {
        let kept = |character: &char| character.is_alphanumeric() || " -_".contains(*character);
        let words: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        let anchor = words.replace(' ', "-");
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(numbered).find(|name| !self.anchors.contains(name));
        self.anchors.extend(free);
    }
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The texts of the pages of the project, by path.
pub fn texts() -> BTreeMap<PathBuf, String> {
    let text = |path: &String| (path.into(), fs::read_to_string(run::workspace().join(path)).unwrap());
    run::tracked(&["*.md"]).unwrap().iter().map(text).collect()
}

/// The file and the heading to which a link on the page at `from` leads.
pub fn target<'a>(from: &Path, link: &'a str) -> (PathBuf, &'a str) {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    (if file.is_empty() { from.to_owned() } else { plain(&from.with_file_name(file)) }, anchor)
}

/// The fault of a link on the page at `from`.
fn fault(pages: &BTreeMap<PathBuf, Page>, from: &Path, link: &str) -> Option<String> {
    if link.starts_with("http") || link.starts_with("mailto:") {
        return None;
    }
    let (to, anchor) = target(from, link);
    if !run::workspace().join(&to).exists() {
        return Some(format!("{}: {link}: no such file", from.display()));
    }
    let is_there = anchor.is_empty() || pages.get(&to).is_some_and(|page| page.anchors.contains(anchor));
    (!is_there).then(|| format!("{}: {link}: no such heading", from.display()))
}

#[test]
fn user_links_of_all_pages_lead_somewhere() {
    let pages: BTreeMap<_, _> = texts().into_iter().map(|(path, text)| (path, Page::read(&text))).collect();
    assert!(pages.len() > 50, "{} pages", pages.len());
    let faults = pages.iter().flat_map(|(from, page)| {
        let pages = &pages;
        page.links.iter().filter_map(move |link| fault(pages, from, link))
    });
    let faults: Vec<_> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn user_front_page_leads_to_all_pages_for_users() {
    let text = |name: &str| fs::read_to_string(run::workspace().join("book").join(name)).unwrap();
    let (summary, front) = (text("SUMMARY.md"), Page::read(&text("front.md")).links);
    let for_users = summary.split("\n# ").find(|part| part.starts_with("Use IPUs")).unwrap();
    let leads_to = |page: &String| front.iter().any(|link| link.split('#').next() == Some(page));
    let missing: Vec<_> = Page::read(for_users).links.into_iter().filter(|page| !leads_to(page)).collect();
    assert!(missing.is_empty(), "the front page does not lead to {missing:?}");
}
