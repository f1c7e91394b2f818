//! gres.conf.

use crate::finding::Finding;
use crate::host::{Host, Unseen, if_there, read_text};
use crate::slurm_conf::Slurm;

/// IPUs are no devices of a node, so that gres.conf says nothing about them.
pub(crate) fn lines(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Vec<Finding> {
    let path = slurm.folder().join("gres.conf");
    let text = if_there(&path, read_text(&host.at(&path)), unseen).unwrap_or_default();
    text.lines().enumerate().filter_map(|(index, line)| of_line(index + 1, line)).collect()
}

/// The finding about a line, if it is about IPUs.
fn of_line(number: usize, line: &str) -> Option<Finding> {
    let pairs = line.split('#').next()?.split_whitespace().filter_map(|word| word.split_once('='));
    let value = |wanted: &str| {
        let mut named = pairs.clone().filter(|(key, _)| key.eq_ignore_ascii_case(wanted));
        named.next().map(|(_, value)| value)
    };
    value("Name").filter(|name| *name == "vipu")?;
    let (place, fix) = (format!("gres.conf:{number}"), "remove the line; IPUs need none");
    if let Some(files) = value("File").or_else(|| value("MultipleFiles")) {
        let what = format!("File={files} says that IPUs are devices of the node, which they are not");
        return Some(Finding::error(place, what, fix));
    }
    let flags = value("Flags").unwrap_or_default();
    Some(match flags.split(',').any(|flag| flag.eq_ignore_ascii_case("CountOnly")) {
        true => {
            let what = "CountOnly keeps Slurm from loading gres_vipu.so, so that nothing checks the node";
            Finding::warning(place, what, fix)
        }
        false => Finding::hint(place, "it is about vipu, which Gres= in slurm.conf says already", fix),
    })
}
