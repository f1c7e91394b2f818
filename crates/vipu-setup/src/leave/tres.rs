//! The weights of IPUs, and the licences, in slurm.conf.

use slurm_conf::{Pair, Place};

use super::conf_lines::shown;
use super::left::Left;
use super::site::Site;

/// The order matters: slurmctld ends with `fatal` about a weight of a TRES that AccountingStorageTRES lacks.
const WITH_TRES: &str =
    "before AccountingStorageTRES, or together with it: slurmctld does not start otherwise";

/// Whether an entry names a TRES of slurm-vipu: `gres/vipu`, `gres/vipu:<model>`, `license/vipu` or
/// `license/vipu_<model>`.
pub fn is_ours(entry: &str) -> bool {
    // Slurm takes the kind and the name in any case.
    match entry.to_ascii_lowercase().split_once('/') {
        Some(("gres", name)) => name == "vipu" || name.starts_with("vipu:"),
        Some(("license", name)) => is_license(name),
        _ => false,
    }
}

fn is_license(name: &str) -> bool {
    name == "vipu" || name.starts_with("vipu_")
}

/// The lines with weights of IPUs.
pub fn weights(site: &Site) -> Vec<Left> {
    let priority = site.conf.line("PriorityWeightTRES").map(|line| (&line.pair, &line.place));
    // Each line itself, so that a weight of a DEFAULT line is listed once.
    let billing = site.conf.all("PartitionName").flat_map(|line| {
        let weights = line.more.iter().filter(|pair| pair.is("TRESBillingWeights"));
        weights.map(|pair| (pair, &line.place))
    });
    priority.into_iter().chain(billing).filter_map(|(pair, place)| weight(pair, place)).collect()
}

fn weight(pair: &Pair, place: &Place) -> Option<Left> {
    let ours = entries(&pair.value, |entry| is_ours(name(entry, '=')))?;
    let what = format!("{} has {ours}", pair.key);
    Some(Left::new(shown(place), what, format!("remove {ours} {WITH_TRES}")))
}

/// The line with licences for IPUs.
pub fn licenses(site: &Site) -> Option<Left> {
    let line = site.conf.line("Licenses")?;
    let ours = entries(&line.pair.value, |entry| is_license(name(entry, ':')))?;
    let fix = format!("remove {ours} when no job and no reservation has such a licence");
    Some(Left::new(shown(&line.place), format!("Licenses has {ours}"), fix))
}

/// The entries of a list that are meant, unless there is none. Slurm takes `;` between licences, too.
fn entries(list: &str, is_meant: impl Fn(&str) -> bool) -> Option<String> {
    let meant: Vec<_> = list.split([',', ';']).map(str::trim).filter(|entry| is_meant(entry)).collect();
    (!meant.is_empty()).then(|| meant.join(","))
}

/// The name of an entry, which ends at this sign.
fn name(entry: &str, sign: char) -> &str {
    entry.split(sign).next().unwrap_or_default().trim()
}
