//! The lines about IPUs in gres.conf.

use super::{Slurm, Unseen};
use crate::host::{Host, read_text};

/// A line about IPUs.
pub(crate) struct GresLine {
    /// The file and the number of the line.
    pub(crate) place: String,
    /// The files of devices that it names.
    pub(crate) devices: Option<String>,
    /// Whether it keeps Slurm from loading `gres_vipu.so`.
    pub(crate) is_count_only: bool,
}

/// Reads the lines about IPUs. None is the usual case.
pub(super) fn read(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Vec<GresLine> {
    let path = slurm.folder().join("gres.conf");
    let text = match read_text(&host.at(&path)) {
        Ok(text) => text,
        Err(why) => {
            if why.kind() != std::io::ErrorKind::NotFound {
                unseen.push((path.display().to_string(), why.to_string()));
            }
            return Vec::new();
        }
    };
    text.lines().enumerate().filter_map(|(index, line)| gres_line(index + 1, line)).collect()
}

fn gres_line(number: usize, line: &str) -> Option<GresLine> {
    let pairs = line.split('#').next()?.split_whitespace().filter_map(|word| word.split_once('='));
    let value = |wanted: &str| {
        let mut named = pairs.clone().filter(|(key, _)| key.eq_ignore_ascii_case(wanted));
        named.next().map(|(_, value)| value.to_owned())
    };
    let flags = value("Flags").unwrap_or_default();
    value("Name").filter(|name| name == "vipu").map(|_| GresLine {
        place: format!("gres.conf:{number}"),
        devices: value("File").or_else(|| value("MultipleFiles")),
        is_count_only: flags.split(',').any(|flag| flag.eq_ignore_ascii_case("CountOnly")),
    })
}
