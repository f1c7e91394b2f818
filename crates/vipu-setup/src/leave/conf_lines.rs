//! The lines about IPUs in slurm.conf and plugstack.conf.

use std::fs;
use std::path::Path;

use slurm_conf::{Pair, Place};

use super::files;
use super::jobs::{self, Job};
use super::site::{Left, Site};

/// The lists of slurm.conf that have a word of slurm-vipu.
const LISTS: [&str; 3] = ["SelectTypeParameters", "JobSubmitPlugins", "AccountingStorageTRES"];

/// Why one word stays for now.
const KEEP: &str =
    "keep vipu in GresTypes for now: slurmctld still knows jobs with IPUs, and would log errors about them";

/// What to change when nothing is left, for people.
pub fn to_change(site: &Site, jobs: &[Job]) -> Vec<String> {
    let mut lines = vec!["now change these lines, and restart slurmctld and slurmd:".to_owned()];
    let stock = format!("{}; write the stock selector", site.select_type());
    lines.push(format!("  {}: {stock}", place(site, "SelectType")));
    lines.extend(left(site, jobs).iter().map(|left| format!("  {left}")));
    lines.extend(to_keep(site, jobs).map(|line| format!("  {line}")));
    lines.extend(health_check_note(site).map(|line| format!("  {line}")));
    lines.push("then run: slurm-vipu-setup leave --clean".to_owned());
    lines
}

/// The word that stays as long as slurmctld knows jobs with IPUs.
pub fn to_keep(site: &Site, jobs: &[Job]) -> Option<String> {
    jobs::remembered(jobs).then(|| format!("{}: {KEEP}", place(site, "GresTypes")))
}

/// The lines to remove.
pub fn left(site: &Site, jobs: &[Job]) -> Vec<Left> {
    // slurmctld does not start with a weight of a TRES that is no longer in AccountingStorageTRES.
    let mut left = weights(site);
    let remove = |word: &str| format!("remove {word}");
    for key in LISTS {
        for word in listed(site, key) {
            left.push(Left::new(place(site, key), format!("{key} has {word}"), remove(&word)));
        }
    }
    left.extend(licenses(site));
    left.extend(site.conf.nodes().iter().filter_map(gres));
    left.extend(own_folders(site).map(|folder| {
        let what = format!("PluginDir has {folder}, without which Slurm does not start");
        Left::new(place(site, "PluginDir"), what, "remove it before you remove the folder")
    }));
    if !jobs::remembered(jobs) {
        for word in listed(site, "GresTypes") {
            left.push(Left::new(place(site, "GresTypes"), format!("GresTypes has {word}"), remove(&word)));
        }
    }
    if let Some(plugin) = site.plugstack.plugin("spank_ipuof.so") {
        left.push(Left::new(shown(&plugin.place), "it loads spank_ipuof.so", "remove the line"));
    }
    left.extend(health_check(site));
    left
}

/// The folders of PluginDir that have plugins of slurm-vipu only.
fn own_folders(site: &Site) -> impl Iterator<Item = &str> {
    let folders = site.conf.value("PluginDir").unwrap_or_default().split(':');
    folders.filter(|folder| {
        let has = |name: &str| Path::new(folder).join(name).exists();
        has("select_vipu.so") && !has("select_cons_tres.so")
    })
}

/// The words of a list that name the GRES or a plugin of slurm-vipu, or that no stock selector knows.
fn listed(site: &Site, key: &str) -> Vec<String> {
    let words = site.conf.value(key).unwrap_or_default().split(',').map(str::trim);
    let own = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        is_ours(word) || name == "vipu" || name.eq_ignore_ascii_case("other_cons_tres")
    };
    words.filter(own).map(str::to_owned).collect()
}

fn gres(node: &slurm_conf::Named) -> Option<Left> {
    let gres = node.get("Gres")?;
    let offers = gres.value.split(',').filter(|offer| offer.split(':').next() == Some("vipu"));
    let offers: Vec<_> = offers.collect();
    let what = format!("Gres={} of {}", gres.value, node.name);
    let fix = format!("remove {}", offers.join(","));
    (!offers.is_empty()).then(|| Left::new(shown(&gres.place), what, fix))
}

pub fn place(site: &Site, key: &str) -> String {
    site.conf.line(key).map_or_else(|| site.path.display().to_string(), |line| shown(&line.place))
}

pub fn shown(place: &Place) -> String {
    format!("{}:{}", place.file.display(), place.line)
}

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

/// The name of the script in docs/maintenance.md.
const SCRIPT: &str = "check-ipus.sh";

/// HealthCheckProgram, if it is the script of docs/maintenance.md, or looks for the mark as that script does.
pub fn health_check(site: &Site) -> Option<Left> {
    let program = program(site).filter(|program| looks_for_mark(site, program))?;
    let what = format!("HealthCheckProgram={program} looks for the mark {} in IpuofDir", files::mark(site));
    let fix = "take this out: without the mark, which slurm-vipu-setup leave --clean removes, the script drains all nodes";
    Some(Left::new(place(site, "HealthCheckProgram"), what, fix))
}

/// What to look at by hand: a program that may look for the mark in a file of its own.
pub fn health_check_note(site: &Site) -> Option<String> {
    let program = program(site).filter(|program| !looks_for_mark(site, program))?;
    let marks: Vec<_> = files::marks(site).iter().map(|mark| mark.display().to_string()).collect();
    // Without a mark there is nothing that the program could miss.
    (!marks.is_empty()).then(|| {
        format!(
            "{}: note: if HealthCheckProgram={program}, or a file that it reads, looks for {}, take this out before slurm-vipu-setup leave --clean: that removes the mark, and nodes drain",
            place(site, "HealthCheckProgram"),
            marks.join(" or ")
        )
    })
}

fn program(site: &Site) -> Option<&str> {
    site.conf.value("HealthCheckProgram").filter(|program| !program.is_empty())
}

/// Whether this host's copy of the program names the mark. Nodes can have another copy, so the name of the script counts
/// if there is none here.
fn looks_for_mark(site: &Site, program: &str) -> bool {
    let path = program.split_whitespace().next().unwrap_or_default();
    match fs::read(path) {
        Ok(text) => String::from_utf8_lossy(&text).lines().any(|line| names_mark(site, line)),
        Err(_) => path.rsplit('/').next() == Some(SCRIPT),
    }
}

/// Whether a line that is no comment names the mark of this cluster.
fn names_mark(site: &Site, line: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
    let line = line.to_lowercase();
    // The name of another cluster may begin with that of this one.
    !line.trim_start().starts_with('#') && line.split(&files::mark(site)).skip(1).any(is_end)
}
