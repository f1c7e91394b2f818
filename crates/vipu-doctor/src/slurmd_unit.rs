//! The unit with which systemd starts slurmd.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::finding::Finding;
use crate::host::{Host, read_text};
use crate::slurm_conf::Slurm;

/// The folders of units. An earlier one has precedence.
const FOLDERS: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

const UNIT: &str = "slurmd.service";

/// The bytes that RDMA needs at least, as spank_ipuof.so counts them.
const ENOUGH: u64 = 1 << 30;

/// A `LimitMEMLOCK`.
struct Limit {
    /// Its value, as it is written.
    text: String,
    /// The file and the line.
    file: PathBuf,
    line: usize,
}

/// The file of the unit, and the `LimitMEMLOCK` of it and its drop-in files that counts. None if slurmd has no unit.
fn read(host: &Host<'_>) -> Option<(PathBuf, Option<Limit>)> {
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
    Some((path, locked_memory))
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
    fn bytes(&self) -> Option<u64> {
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

/// slurmd, and so its tasks, may lock the memory that RDMA needs.
pub(crate) fn locked_memory(host: &Host<'_>, slurm: &Slurm) -> Option<Finding> {
    let (unit, limit) = read(host).filter(|_| slurm.has_ipus)?;
    let restart = "then systemctl daemon-reload and restart slurmd";
    let drop_in = format!(
        "write [Service] and LimitMEMLOCK=infinity into /etc/systemd/system/slurmd.service.d/zz-memlock.conf, {restart}"
    );
    let Some(limit) = limit else {
        let what = "it has no LimitMEMLOCK, so that tasks may lock less memory than RDMA needs";
        return Some(Finding::warning(unit.display().to_string(), what, drop_in));
    };
    if limit.bytes().is_none_or(|bytes| bytes >= ENOUGH) {
        return None;
    }
    let place = format!("{}:{}", limit.file.display(), limit.line);
    let what = format!("LimitMEMLOCK is {}, so that tasks may lock less memory than RDMA needs", limit.text);
    // An update of Slurm's package replaces the files in other folders.
    let fix = match limit.file.starts_with("/etc") {
        true => format!("write LimitMEMLOCK=infinity there, {restart}"),
        false => drop_in,
    };
    Some(Finding::warning(place, what, fix))
}
