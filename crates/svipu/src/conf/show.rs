//! `svipu conf show`: each key with its value, and whether slurmctld has read it.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::Serialize;
use vipu_conf::{Good, Listed, Preset, listed, load};
use vipu_status::Status;
use vipu_types::ModelName;

use super::models::{Models, folder, read_slurm_conf};
use crate::arguments::Common;
use crate::configuration::Configuration;
use crate::error::Failure;
use crate::page::{Page, Tone};
use crate::slurm_files::slurm_conf_path;
use crate::surroundings::Surroundings;
use crate::times::span;
use crate::view::blank_page;
use crate::{Output, document, find, safe};

/// The greatest width of a value in the table.
const VALUE: usize = 40;

/// A model as JSON.
#[derive(Serialize)]
struct Shown {
    model: String,
    /// What slurmctld knows of the file.
    slurmctld: String,
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
    let names: Vec<_> = Models::of(&read_slurm_conf(&path)?).names.into_iter().collect();
    let status = Configuration::read(surroundings)
        .and_then(|it| find::document(common.status.as_deref(), it.status.as_deref(), surroundings))
        .and_then(|path| document::read(&path, surroundings.user));
    let status = status
        .inspect_err(|why| {
            output.stderr += &format!("svipu: warning: {}\n", safe::cut(&why.to_string(), safe::LINE))
        })
        .ok();
    let models = load(folder(&path), &names).into_iter();
    let chosen = models.filter(|(name, _)| common.model.as_ref().is_none_or(|model| model == name.as_str()));
    let shown: Vec<_> = chosen
        .map(|(name, file)| {
            let reading = reading(&name, file.as_ref().ok(), status.as_ref(), surroundings.now);
            let error = file.as_ref().err().map(ToString::to_string);
            let keys = file.map(|file| rows(&file)).unwrap_or_default();
            Shown { model: name.to_string(), slurmctld: reading, error, keys }
        })
        .collect();
    if shown.is_empty() {
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
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
fn reading(model: &ModelName, file: Option<&Good>, status: Option<&Status>, now: i64) -> String {
    let Some(status) = status else {
        return "no status document: it is unknown what slurmctld has read".into();
    };
    let Some(model) = status.models.iter().find(|known| known.name == model.as_str()) else {
        return "slurmctld does not know the model: restart slurmctld".into();
    };
    let ago = format!("slurmctld read it {} ago", span(now.saturating_sub(model.conf.read)));
    let held =
        if model.conf.in_force { "the earlier settings are in force" } else { "no settings are in force" };
    let changed = file.and_then(|file| modified(&file.path)).is_some_and(|time| time > model.conf.read);
    match (&model.conf.error, changed, file) {
        (Some(why), false, _) => format!("{ago} with an error, {held}: {why}"),
        (Some(_), true, _) => {
            format!("{ago} with an error, {held}; it has changed since: run scontrol reconfigure")
        }
        (None, true, _) => format!("{ago}, and it has changed since: run scontrol reconfigure"),
        (None, false, None) => format!("{ago} without an error; the earlier settings stay in force"),
        (None, false, Some(_)) => format!("{ago}; these values are in force"),
    }
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
    // slurmctld reads Layer in vipu.conf only.
    let counts = |entry: &Listed| entry.key.name != "Layer" || name == "vipu.conf";
    listed(&file.text).into_iter().filter(counts).map(row).collect()
}

fn add(page: &mut Page, model: &Shown) {
    page.toned(&[(Tone::Bold, &format!("model {}", model.model))]);
    page.line(&format!("  {}", model.slurmctld));
    if let Some(error) = &model.error {
        error.lines().for_each(|line| page.toned(&[(Tone::Red, &format!("  {line}"))]));
    }
    let key_width = model.keys.iter().map(|row| row.key.len()).max().unwrap_or(0);
    let cells: Vec<_> = model.keys.iter().map(|row| (row, safe::cut(&row.value, VALUE))).collect();
    let value_width = cells.iter().map(|(_, value)| safe::width(value)).max().unwrap_or(0);
    for (row, value) in cells {
        let gap = " ".repeat(value_width - safe::width(&value));
        let tone = if row.from == "default" { Tone::Dim } else { Tone::Plain };
        page.toned(&[(tone, &format!("  {:key_width$}  {value}{gap}  {}", row.key, row.from))]);
    }
}
