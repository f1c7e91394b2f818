//! The models that nodes have, and their files.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use vipu_conf::{Good, LoadError, Settings};
use vipu_types::{GresType, ModelName};

use crate::finding::Finding;
use crate::host::{Host, read_text};
use crate::slurm_conf::Slurm;

/// A model with its file.
pub(crate) struct ModelFile {
    /// The name of the model.
    pub(crate) name: ModelName,
    /// The bare name of the file with its settings.
    pub(crate) file: String,
    /// Its settings, or the reason why it has none.
    pub(crate) settings: Result<Settings, LoadError>,
    /// The line of MaxIpusPerJob, if the file gives it. Only on a slurmctld host.
    pub(crate) max_ipus_line: Option<usize>,
    /// The Unix time of its last change, in seconds.
    pub(crate) changed: Option<i64>,
}

/// Reads the files of all models that nodes have, on a node those of `conf_dir` if that is given. Also returns what is wrong in a vipu.conf that none of them reads.
pub(crate) fn read(
    host: &Host<'_>,
    slurm: &Slurm,
    conf_dir: Option<&str>,
) -> (Vec<ModelFile>, Option<LoadError>) {
    let folder = match conf_dir {
        Some(folder) if !slurm.is_controller_host => PathBuf::from(folder),
        _ => slurm.folder().to_owned(),
    };
    let offers = slurm.nodes.iter().flat_map(|node| &node.offers);
    let types: BTreeSet<_> = offers.filter_map(|offer| GresType::new(offer.model.as_deref()?).ok()).collect();
    let names: Vec<_> = types.iter().map(GresType::model).collect();
    let folder = host.at(&folder);
    let model = |name: ModelName, settings, max_ipus_line| {
        let own = format!("{name}.conf");
        let has_own = folder.join(&own).symlink_metadata().is_ok();
        let file = if has_own { own } else { "vipu.conf".to_owned() };
        let changed = changed(&folder.join(&file));
        ModelFile { name, file, settings, max_ipus_line, changed }
    };
    if !slurm.is_controller_host {
        // A node needs no file of HostMap.
        let settings = |name: &ModelName| vipu_conf::settings_on_node(&folder, name);
        return (names.into_iter().map(|name| model(name.clone(), settings(&name), None)).collect(), None);
    }
    let mut loaded = vipu_conf::load(&folder, &names);
    if types.iter().any(|of| matches!(of, GresType::Size(_))) {
        vipu_conf::need_pool(&mut loaded);
    }
    let beside = vipu_conf::error_beside(&folder, &loaded);
    let of_model = |(name, file): (ModelName, Result<Good, LoadError>)| {
        let line = file.as_ref().ok().and_then(|good| max_ipus_line(&good.text));
        model(name, file.map(|good| good.settings), line)
    };
    (loaded.into_iter().map(of_model).collect(), beside)
}

fn max_ipus_line(text: &str) -> Option<usize> {
    vipu_conf::listed(text).into_iter().find(|entry| entry.key.name == "MaxIpusPerJob")?.line
}

fn changed(path: &Path) -> Option<i64> {
    let time = path.metadata().ok()?.modified().ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}

/// The settings of the models whose files are good.
pub(crate) fn settings(models: &[ModelFile]) -> impl Iterator<Item = (&ModelFile, &Settings)> {
    models.iter().filter_map(|model| Some((model, model.settings.as_ref().ok()?)))
}

/// The file of each model is good, and so is a vipu.conf that none of them reads, because Layer and AdminSocket are
/// read from it. Only a slurmctld host needs one.
pub(crate) fn files(slurm: &Slurm, models: &[ModelFile], error_beside: Option<&LoadError>) -> Vec<Finding> {
    let of_model = |model: &ModelFile| match model.settings.as_ref().err()? {
        LoadError::Missing { .. } if !slurm.is_controller_host => None,
        LoadError::Missing { .. } => {
            let what =
                format!("there is neither vipu.conf nor {0}.conf for the model {0} of Gres=", model.name);
            let fix = "write one with ApiHost= and IpuofDir=, or mend the model in Gres=";
            Some(Finding::error("vipu.conf", what, fix))
        }
        why => of_file(&model.file, why),
    };
    let beside = error_beside.into_iter().filter_map(|why| of_file("vipu.conf", why));
    let mut findings = Vec::new();
    for finding in models.iter().filter_map(of_model).chain(beside) {
        // Several models may have the shared file.
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    findings
}

fn of_file(file: &str, why: &LoadError) -> Option<Finding> {
    Some(match why {
        LoadError::Missing { .. } => return None,
        LoadError::Broken(broken) => {
            let more = broken.problems.len().saturating_sub(1);
            let first = broken.problems.first()?;
            let line = first.spot.as_ref().map(|spot| format!(":{}", spot.line)).unwrap_or_default();
            let more = if more == 0 { String::new() } else { format!(" (and {more} more errors)") };
            let fix = "mend it, then scontrol reconfigure";
            // The file of HostMap has errors of its own.
            let file = broken.path.file_name().map_or(file.into(), |name| name.to_string_lossy());
            Finding::error(format!("{file}{line}"), format!("{}{more}", first.reason), fix)
        }
        LoadError::DanglingLink { target, .. } => {
            let what = format!("it is a link to {}, which does not exist", target.display());
            Finding::error(file, what, "create that file, or remove the link")
        }
        LoadError::Unreadable { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            let what = format!("not examined: {source}");
            Finding::hint(file, what, "run svipu doctor as root or SlurmUser")
        }
        LoadError::Unreadable { path, source } => {
            let what = format!("cannot read {}: {source}", path.display());
            let fix = match source.kind() {
                ErrorKind::NotFound => "write the file, or mend HostMap",
                _ => "mend this, or put a file of settings in its place",
            };
            Finding::error(file, what, fix)
        }
    })
}

/// Each file beside slurm.conf that looks like that of a model has a node with this model. A misspelt model would have
/// the settings of vipu.conf.
pub(crate) fn strays(host: &Host<'_>, slurm: &Slurm, models: &[ModelFile]) -> Vec<Finding> {
    if !slurm.is_controller_host {
        return Vec::new();
    }
    let entries = std::fs::read_dir(host.at(slurm.folder())).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_stray = |name: &String| {
        let Some(model) = name.strip_suffix(".conf").and_then(|stem| ModelName::new(stem).ok()) else {
            return false;
        };
        let is_known = model.as_str() == "vipu" || models.iter().any(|known| known.name == model);
        !is_known && read_text(&host.at(&slurm.folder().join(name))).is_ok_and(|text| gives_controller(&text))
    };
    let strays: BTreeSet<_> = names.filter(is_stray).collect();
    let known: Vec<_> = models.iter().map(|model| model.name.as_str()).collect();
    let finding = |name: String| {
        let what = "no node has the model of this file, so that it is not read";
        let fix = match known.is_empty() {
            true => "write the model into Gres= of its nodes, or remove the file".to_owned(),
            false => format!("rename it to a model of Gres= ({}), or mend Gres=", known.join(", ")),
        };
        Finding::warning(name, what, fix)
    };
    strays.into_iter().map(finding).collect()
}

/// Whether a text has a line with the key that each file of a model needs.
fn gives_controller(text: &str) -> bool {
    text.lines().any(|line| {
        let key = line.split('=').next().unwrap_or_default().trim();
        key.eq_ignore_ascii_case("ApiHost")
    })
}
