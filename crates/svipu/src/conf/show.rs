//! `svipu conf show`: each key with its value, and whether slurmctld has read it.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::Serialize;
use vipu_conf::{Broken, Good, Listed, LoadError, Preset, SavedConf, listed, load_offered};
use vipu_status::{ConfFile, Status};
use vipu_types::ModelName;

use crate::arguments::Common;
use crate::error::Failure;
use crate::page::{Page, Tone};
use crate::slurm_files::{Models, folder, read_slurm_conf, slurm_conf_path};
use crate::surroundings::Surroundings;
use crate::svipu_toml::Configuration;
use crate::times::span;
use crate::view::blank_page;
use crate::{Output, find_document, safe};

/// The greatest width of a value in the table.
const VALUE: usize = 40;

/// StateSaveLocation, if slurm.conf does not name it.
const STATE_SAVE_LOCATION: &str = "/var/spool";

/// A model as JSON.
#[derive(Serialize)]
struct Shown {
    model: String,
    /// What slurmctld knows of the file.
    slurmctld: String,
    /// Where the values in force are, if the file does not have them.
    in_force: Option<String>,
    /// Why the file cannot be used.
    error: Option<String>,
    keys: Vec<Row>,
}

/// A key.
#[derive(Serialize)]
struct Row {
    key: &'static str,
    /// The value, or the meaning of a key without one.
    value: String,
    from: String,
}

/// The page of the command.
pub(crate) fn show(
    common: &Common,
    surroundings: &Surroundings,
    output: &mut Output,
) -> Result<String, Failure> {
    let path = slurm_conf_path(surroundings);
    let slurm_conf = read_slurm_conf(&path)?;
    let kept = SavedConf::in_dir(slurm_conf.value("StateSaveLocation").unwrap_or(STATE_SAVE_LOCATION));
    let offered = Models::of(&slurm_conf).offered;
    let status = Configuration::read(surroundings)
        .and_then(|it| find_document::find(common.status.as_deref(), it.status.as_deref(), surroundings))
        .and_then(|path| find_document::read(&path, surroundings.user));
    let status = status
        .inspect_err(|why| {
            output.stderr += &format!("svipu: warning: {}\n", safe::cut(&why.to_string(), safe::LINE))
        })
        .ok();
    let models = load_offered(folder(&path), &offered).into_iter();
    let chosen = models.filter(|(name, _)| common.model.as_ref().is_none_or(|model| model == name.as_str()));
    let shown: Vec<_> = chosen
        .map(|(name, file)| {
            let reading = reading(&name, file.as_ref(), status.as_ref(), surroundings.now);
            let error = file.as_ref().err().map(ToString::to_string);
            let (shown, in_force) = match holds_others(&name, file.as_ref(), status.as_ref()) {
                true => in_force(&kept, &name, file.ok()),
                false => (file.ok(), None),
            };
            let keys = shown.map(|file| rows(&file)).unwrap_or_default();
            Shown { model: name.to_string(), slurmctld: reading, in_force, error, keys }
        })
        .collect();
    if shown.is_empty() {
        let names: Vec<_> = offered.0.keys().map(ToString::to_string).collect();
        return Err(Failure::NoModel(path, names.join(", ")));
    }
    if common.json {
        return Ok(serde_json::to_string_pretty(&shown)? + "\n");
    }
    let mut page = blank_page(common, surroundings);
    for (index, model) in shown.iter().enumerate() {
        if index > 0 {
            page.line("");
        }
        add(&mut page, model);
    }
    Ok(page.finish())
}

/// What slurmctld knows of the file of a model.
fn reading(model: &ModelName, file: Result<&Good, &LoadError>, status: Option<&Status>, now: i64) -> String {
    let Some(status) = status else {
        return "no status document: it is unknown what slurmctld has read".into();
    };
    let Some(model) = status.models.iter().find(|known| known.name == model.as_str()) else {
        return "slurmctld does not know the model: restart slurmctld".into();
    };
    let ago = format!("slurmctld read it {} ago", span(now.saturating_sub(model.conf.read)));
    let held =
        if model.conf.in_force { "the earlier settings are in force" } else { "no settings are in force" };
    let changed = has_changed(file, &model.conf);
    match (&model.conf.error, changed, file) {
        (Some(why), false, _) => format!("{ago} with an error, {held}: {why}"),
        (Some(_), true, _) => {
            format!("{ago} with an error, {held}; it has changed since: run scontrol reconfigure")
        }
        (None, true, Ok(_)) => format!("{ago}, and it has changed since: run scontrol reconfigure"),
        (None, false, Ok(_)) => format!("{ago}; these values are in force"),
        (None, changed, Err(LoadError::Broken(_))) => {
            let changed = if changed { "it has changed since, and " } else { "" };
            format!("{ago}, when it had no error; {changed}the settings of that time stay in force")
        }
        (None, _, Err(_)) => {
            format!(
                "{ago}, when it had no error; svipu cannot read it now, and does not know whether it has changed"
            )
        }
    }
}

/// Whether slurmctld has settings for the model that need not be those of the file.
fn holds_others(model: &ModelName, file: Result<&Good, &LoadError>, status: Option<&Status>) -> bool {
    let known = status.and_then(|it| it.models.iter().find(|known| known.name == model.as_str()));
    known.is_some_and(|known| {
        let is_read = known.conf.error.is_none() && file.is_ok() && !has_changed(file, &known.conf);
        known.conf.in_force && !is_read
    })
}

/// The text to show, and where the settings in force are. They are those of the text that slurmctld keeps.
fn in_force(kept: &SavedConf, model: &ModelName, file: Option<Good>) -> (Option<Good>, Option<String>) {
    let path = kept.path(model);
    let path = path.display();
    let why = match (kept.good(model), &file) {
        (Ok(Some(kept)), Some(good)) if kept.text == good.text => {
            return (file, Some("in force: these values".to_owned()));
        }
        (Ok(Some(kept)), _) => return (Some(kept), Some(format!("in force: these values, kept in {path}"))),
        (Ok(None), _) => "it is not on this host".to_owned(),
        (Err(LoadError::Unreadable { source, .. }), _) => source.to_string(),
        (Err(why), _) => why.one_line().into(),
    };
    let below = if file.is_some() { "; below are those of the file" } else { "" };
    let line = format!(
        "in force: the values in {path} on the host of slurmctld, for SlurmUser and root ({why}){below}"
    );
    (file, Some(line))
}

fn has_changed(file: Result<&Good, &LoadError>, conf: &ConfFile) -> bool {
    let path = match file {
        Ok(Good { path, .. })
        | Err(LoadError::Broken(Broken { path, .. }) | LoadError::Unreadable { path, .. }) => path,
        Err(LoadError::Missing { .. } | LoadError::DanglingLink { .. }) => return false,
    };
    modified(path).is_some_and(|time| time > conf.read)
}

fn modified(path: &Path) -> Option<i64> {
    let time = fs::metadata(path).ok()?.modified().ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}

fn rows(file: &Good) -> Vec<Row> {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let row = |entry: Listed| {
        let meaning = match entry.key.preset {
            Preset::Absent(meaning) => meaning,
            Preset::Required | Preset::Value(_) => "",
        };
        let from = entry.line.map_or_else(|| "default".to_owned(), |line| format!("{name}:{line}"));
        Row { key: entry.key.name, value: entry.value.unwrap_or_else(|| format!("({meaning})")), from }
    };
    // slurmctld reads these keys in vipu.conf only, even in a broken one.
    let counts = |entry: &Listed| name == "vipu.conf" || !["Layer", "AdminSocket"].contains(&entry.key.name);
    listed(&file.text).into_iter().filter(counts).map(row).collect()
}

fn add(page: &mut Page, model: &Shown) {
    page.toned(&[(Tone::Bold, &format!("model {}", model.model))]);
    page.line(&format!("  {}", model.slurmctld));
    if let Some(error) = &model.error {
        error.lines().for_each(|line| page.toned(&[(Tone::Red, &format!("  {line}"))]));
    }
    model.in_force.iter().for_each(|line| page.line(&format!("  {line}")));
    let key_width = model.keys.iter().map(|row| row.key.len()).max().unwrap_or(0);
    let cells: Vec<_> = model.keys.iter().map(|row| (row, safe::cut(&row.value, VALUE))).collect();
    let value_width = cells.iter().map(|(_, value)| safe::width(value)).max().unwrap_or(0);
    for (row, value) in cells {
        let gap = " ".repeat(value_width - safe::width(&value));
        let tone = if row.from == "default" { Tone::Dim } else { Tone::Plain };
        page.toned(&[(tone, &format!("  {:key_width$}  {value}{gap}  {}", row.key, row.from))]);
    }
}
