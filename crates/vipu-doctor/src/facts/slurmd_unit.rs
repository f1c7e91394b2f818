//! The unit with which systemd starts slurmd.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::host::{Host, read_text};

/// The folders of units. An earlier one has precedence.
const FOLDERS: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

const UNIT: &str = "slurmd.service";

/// The unit.
pub(crate) struct SlurmdUnit {
    /// The file of the unit.
    pub(crate) path: PathBuf,
    /// The `LimitMEMLOCK` that counts, if there is one.
    pub(crate) locked_memory: Option<Limit>,
}

/// A limit.
pub(crate) struct Limit {
    /// Its value, as it is written.
    pub(crate) text: String,
    /// The file and the line.
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
}

/// Reads the unit and its drop-in files. None if slurmd has no unit.
pub(super) fn read(host: &Host<'_>) -> Option<SlurmdUnit> {
    let path =
        FOLDERS.iter().map(|folder| Path::new(folder).join(UNIT)).find(|path| host.at(path).exists())?;
    let mut drop_ins = BTreeMap::new();
    for folder in FOLDERS.iter().rev() {
        let pattern = Path::new(folder).join(format!("{UNIT}.d/*.conf"));
        let found = slurm_conf::Files::matching(&mut &*host, &pattern).into_iter();
        drop_ins.extend(found.filter_map(|path| Some((path.file_name()?.to_owned(), path))));
    }
    let files = std::iter::once(path.clone()).chain(drop_ins.into_values());
    let limits = files.flat_map(|file| limits(host, &file));
    // An empty value takes back what stands before it.
    let locked_memory = limits.last().filter(|limit| !limit.text.is_empty());
    Some(SlurmdUnit { path, locked_memory })
}

fn limits(host: &Host<'_>, file: &Path) -> Vec<Limit> {
    let text = read_text(&host.at(file)).unwrap_or_default();
    let value = |(index, line): (usize, &str)| {
        let (key, value) = line.split_once('=')?;
        let limit = Limit { text: value.trim().to_owned(), file: file.to_owned(), line: index + 1 };
        (key.trim() == "LimitMEMLOCK").then_some(limit)
    };
    text.lines().enumerate().filter_map(value).collect()
}

impl Limit {
    /// The number of bytes, that of the soft limit if there are two. None if there is no limit.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let soft = self.text.split(':').next().unwrap_or_default().trim();
        let digits = soft.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let power = match &soft[digits.len()..] {
            "infinity" => return None,
            "K" => 10,
            "M" => 20,
            "G" => 30,
            "T" => 40,
            "P" => 50,
            "E" => 60,
            _ => 0,
        };
        // systemd ignores a value that is no number.
        Some(digits.parse::<u64>().unwrap_or(0).saturating_mul(1 << power))
    }
}
