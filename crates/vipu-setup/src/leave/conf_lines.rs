//! The lines about IPUs in slurm.conf and plugstack.conf.

use std::path::Path;

use slurm_conf::Place;

use super::jobs::{self, Job};
use super::left::Left;
use super::site::Site;
use super::{health_check, tres};

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
    lines.extend(health_check::note(site).map(|line| format!("  {line}")));
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
    let mut left = tres::weights(site);
    let remove = |word: &str| format!("remove {word}");
    for key in LISTS {
        for word in listed(site, key) {
            left.push(Left::new(place(site, key), format!("{key} has {word}"), remove(&word)));
        }
    }
    left.extend(tres::licenses(site));
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
    left.extend(health_check::left(site));
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
        tres::is_ours(word) || name == "vipu" || name.eq_ignore_ascii_case("other_cons_tres")
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
