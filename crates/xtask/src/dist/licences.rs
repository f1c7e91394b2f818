//! The licences of the linked crates, with all texts that the crates ship.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

use anyhow::{Context, Result};

use super::linked::Crate;

pub const FILE: &str = "THIRD-PARTY-LICENSES";

/// The beginnings of the names of files with licences, in capital letters.
const NAMES: [&str; 6] = ["COPYING", "COPYRIGHT", "LICENCE", "LICENSE", "NOTICE", "UNLICENSE"];

/// The contents of [`FILE`].
pub fn document(crates: &[Crate]) -> Result<String> {
    let mut crates_of_text: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut document = String::from(
        "The objects and programs of slurm-vipu contain these crates of others, under these licences.\n\
         Below the list are the texts that the crates ship. For a crate without a text, see LICENSE-MIT and LICENSE-APACHE.\n\n",
    );
    for one in crates {
        let name = format!("{} {}", one.name, one.version);
        let texts = one.folder.as_deref().map(texts).transpose()?.unwrap_or_default();
        if one.is_of_others() {
            let lacks = if texts.is_empty() { "; it ships no text" } else { "" };
            writeln!(document, "{name}: {}{lacks}", one.licence)?;
        }
        for text in texts {
            crates_of_text.entry(text).or_default().insert(name.clone());
        }
    }
    let mut texts: Vec<_> = crates_of_text.into_iter().map(|(text, crates)| (crates, text)).collect();
    texts.sort();
    let line = "=".repeat(80);
    for (crates, text) in texts {
        let crates = textwrap::fill(&crates.into_iter().collect::<Vec<_>>().join(", "), 80);
        write!(document, "\n{line}\n{crates}\n{line}\n\n{text}\n")?;
    }
    Ok(document)
}

/// The texts in the folder of a crate.
fn texts(folder: &Path) -> Result<BTreeSet<String>> {
    let mut texts = BTreeSet::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if NAMES.iter().any(|beginning| name.starts_with(beginning)) && entry.path().is_file() {
            let bytes = fs::read(entry.path())?;
            texts.insert(String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim_matches('\n').to_owned());
        }
    }
    Ok(texts)
}
