//! The plugin files, and the release of Slurm.

use std::collections::{BTreeMap, BTreeSet};

use slurm_release::{Series, known_releases};
use vipu_types::Delivery;

use crate::facts::{Facts, PluginFile};
use crate::finding::{Finding, Level};

/// The page with the table of files and hosts.
const PAGE: &str = "docs/releases.md#where-the-files-go";

/// Slurm's release is known, or a table file describes it.
pub(super) fn release_is_known(facts: &Facts) -> Vec<Finding> {
    let plugins = &facts.plugins;
    let Some(release) = plugins.release else {
        let folders: Vec<_> = plugins.folders.iter().map(|folder| folder.display().to_string()).collect();
        let what = match folders.is_empty() {
            true => "no usual folder has Slurm's plugins".to_owned(),
            false => format!("no select_cons_tres.so in {} tells the release of Slurm", folders.join(":")),
        };
        return vec![Finding::warning("PluginDir", what, "write PluginDir= of this Slurm into slurm.conf")];
    };
    match &plugins.table {
        Err(why) => {
            let (file, why) = why.split_once(": ").unwrap_or(("slurm-layout.conf", why));
            let fix = "make it again with cargo xtask layout, or remove it";
            vec![Finding::error(file, why.split(';').next().unwrap_or(why), fix)]
        }
        Ok(table) if *table == Some(release) || release.known().is_some() => Vec::new(),
        Ok(_) => vec![Finding::error(
            format!("Slurm {release}"),
            format!("this release is not known (known are {})", known_releases()),
            "measure it with cargo xtask layout --source DIR, or install a newer slurm-vipu",
        )],
    }
}

/// The files that this host needs are in PluginDir, those of slurmctld in one folder.
pub(super) fn files_are_there(facts: &Facts) -> Vec<Finding> {
    let (slurm, plugins) = (&facts.slurm, &facts.plugins);
    let folders: Vec<_> = plugins.folders.iter().map(|folder| folder.display().to_string()).collect();
    let mut findings = Vec::new();
    let mut need = |name: &str, level: Level, who: &str| {
        if plugins.file(name).is_none() {
            let what = format!("it is not in {}, and {who}", folders.join(":"));
            let fix = format!("install it there ({PAGE})");
            findings.push(Finding { level, ..Finding::error(name, what, fix) });
        }
    };
    let selector = selector(facts);
    if slurm.is_controller_host {
        for name in [selector, "vipu_slurmctld.so", "job_submit_vipu.so"] {
            need(name, Level::Error, "slurmctld needs it");
        }
    } else if let Some((level, who)) = need_of_selector(facts) {
        need(selector, level, who);
    }
    let fetches = facts.settings().any(|(_, own)| own.delivery == Delivery::Node);
    if slurm.has_ipus && fetches && !plugins.has_fetch {
        let what = "it is not beside spank_ipuof.so, and Delivery=node needs it";
        findings.push(Finding::error(
            "ipuof-fetch",
            what,
            "build it with cargo build --release -p ipuof-fetch, and copy it there",
        ));
    }
    let folder = |name| plugins.file(name).map(|file| &file.folder);
    if let (Some(front), Some(back)) = (folder(selector), folder("vipu_slurmctld.so"))
        && front != back
    {
        let what = format!("it is in {}, and {selector} in {}", back.display(), front.display());
        findings.push(Finding::error("vipu_slurmctld.so", what, "install both in one folder"));
    }
    findings
}

/// The file of the selector that SelectType names.
fn selector(facts: &Facts) -> &'static str {
    match facts.slurm.value("SelectType") {
        Some("select/vipu_cons_tres") => "select_vipu_cons_tres.so",
        _ => "select_vipu.so",
    }
}

/// The need of the selector on a host other than that of slurmctld (docs/releases.md).
fn need_of_selector(facts: &Facts) -> Option<(Level, &'static str)> {
    let series = facts.plugins.release?.series();
    let (has_no_need, of_all) = (Series::new(25, 5), Series::new(23, 2));
    let is_of_slurmd = series < has_no_need && series != Series::new(23, 11);
    match facts.slurm.is_node {
        true if is_of_slurmd => Some((Level::Error, "slurmd needs it")),
        _ if series <= of_all => Some((Level::Error, "most commands of Slurm need it")),
        _ if series < has_no_need => Some((Level::Warning, "sinfo and scontrol show node need it")),
        _ => None,
    }
}

/// All files are of one version, and those of one process of one build.
pub(super) fn files_are_of_one_build(facts: &Facts) -> Vec<Finding> {
    let files = &facts.plugins.files;
    let versions: BTreeSet<_> = files.iter().map(|file| &file.version).collect();
    let builds: BTreeSet<_> = files.iter().filter_map(|file| file.build.as_ref()).collect();
    if versions.len() <= 1 && builds.len() <= 1 {
        return Vec::new();
    }
    let mut of_build: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    // A file without a build goes with every build of its version.
    let is_odd = |file: &&PluginFile| versions.len() > 1 || file.build.is_some();
    for file in files.iter().filter(is_odd) {
        of_build.entry(in_words(file)).or_default().push(file.name);
    }
    let mut of_build: Vec<_> = of_build.into_iter().collect();
    of_build.sort_by_key(|(_, names)| names.len());
    let part = |(build, names): &(String, Vec<&str>)| format!("{} of {build}", names.join(", "));
    let parts: Vec<_> = of_build.iter().map(part).collect();
    let what = format!("the files differ in their builds: {}", parts.join("; "));
    vec![Finding::error("PluginDir", what, "install all files of one build, with install and not with cp")]
}

/// The build of a file in words.
fn in_words(file: &PluginFile) -> String {
    match (&file.version, &file.build) {
        (Some(version), Some(build)) => format!("{version} ({build})"),
        (Some(version), None) => version.clone(),
        (None, _) => "an unknown version".to_owned(),
    }
}

/// The selector is installed under one name. Up to 24.11 Slurm loads both.
pub(super) fn one_name_of_the_selector(facts: &Facts) -> Vec<Finding> {
    let plugins = &facts.plugins;
    let loads_both = plugins.release.is_none_or(|release| release.series() < Series::new(25, 5));
    let both = ["select_vipu.so", "select_vipu_cons_tres.so"].map(|name| plugins.file(name));
    match both {
        [Some(_), Some(_)] if loads_both => {
            let unused = ["select_vipu.so", "select_vipu_cons_tres.so"]
                .into_iter()
                .find(|name| *name != selector(facts));
            let unused = unused.unwrap_or_default();
            let what =
                "the selector is installed under both its names, so that Slurm ends with Duplicate plugin_id";
            vec![Finding::error(unused, what, format!("remove {unused}"))]
        }
        _ => Vec::new(),
    }
}
