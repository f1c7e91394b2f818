//! `svipu migrate`: what a site has to change that used one of the vendor's ways to run IPU jobs.
//!
//! Nothing is written. The files that can be changed by rule come as a unified diff. The notes above it name
//! what somebody has to decide: scripts, and facts that no file has.

mod conf_files;
mod other_names;
mod scripts;
mod selector;
mod static_partitions;

use std::path::{Path, PathBuf};
use std::{fs, io};

use similar::{ChangeTag, TextDiff};
use slurm_conf::{Files as _, Plugstack, SlurmConf};
use vipu_conf::Mode;
use vipu_types::{ModelName, words};

use self::selector::Selector;
use self::static_partitions::StaticPartitions;
use crate::Output;
use crate::arguments::Common;
use crate::error::Failure;
use crate::page::Tone;
use crate::slurm_files::{Models, SlurmFiles, encoded, read_slurm_conf, slurm_conf_path};
use crate::surroundings::Surroundings;
use crate::view::blank_page;

/// A file before and after.
struct Change {
    path: PathBuf,
    /// `None`: the file is new.
    old: Option<String>,
    new: String,
}

/// What has to change.
#[derive(Default)]
struct Plan {
    changes: Vec<Change>,
    notes: Vec<String>,
}

/// What is on this host.
struct Found {
    conf: SlurmConf,
    plugstack: Plugstack,
    plugstack_path: PathBuf,
    gres: SlurmConf,
    gres_path: PathBuf,
    vipu_conf: PathBuf,
    /// Whether each model has a file of its own, so that no vipu.conf is needed.
    has_own_files: bool,
    /// Whether partitions that were made in advance become a pool, instead of IPUs of one model.
    keeps_sizes: bool,
    /// The partitions that were made in advance.
    partitions: Option<StaticPartitions>,
    selector: Selector,
    scripts: Vec<scripts::Script>,
    script_notes: Vec<String>,
    settings: scripts::Settings,
    has_allocs: bool,
}

/// The notes. The diff follows them as the bytes of the files, or on a terminal in colours and without control
/// characters.
pub(crate) fn show(
    slurm_conf: Option<&Path>,
    pool: bool,
    common: &Common,
    surroundings: &Surroundings,
    output: &mut Output,
) -> Result<String, Failure> {
    let path = slurm_conf.map_or_else(|| slurm_conf_path(surroundings), Path::to_owned);
    // The diff names whole paths, so that it can be applied in any folder.
    let path = std::path::absolute(&path).unwrap_or(path);
    let found = find(&path, pool, surroundings)?;
    let plan = conf_files::plan(&found)?;
    let mut page = blank_page(common, surroundings);
    plan.notes.iter().for_each(|note| page.toned(&[(Tone::Bold, "# "), (Tone::Plain, note)]));
    let is_change = |change: &&Change| change.old.as_deref().unwrap_or_default() != change.new;
    let diff: String = plan.changes.iter().filter(is_change).map(diff).collect();
    if diff.is_empty() {
        page.line("# The configuration files need no change.");
    }
    if !surroundings.terminal {
        output.diff = encoded(&diff).into();
        return Ok(page.finish());
    }
    for line in diff.split_terminator('\n') {
        let tone = match line.chars().next() {
            Some('+') => Tone::Green,
            Some('-') => Tone::Red,
            Some('@') => Tone::Cyan,
            _ => Tone::Plain,
        };
        page.line_of_file(tone, line);
    }
    Ok(page.finish())
}

fn find(path: &Path, pool: bool, surroundings: &Surroundings) -> Result<Found, Failure> {
    let conf = read_slurm_conf(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let plugstack_path =
        conf.value("PlugStackConfig").map_or_else(|| folder.join("plugstack.conf"), PathBuf::from);
    let gres_path = folder.join("gres.conf");
    let vipu_conf = folder.join("vipu.conf");
    let release = vipu_doctor::slurm_release(&surroundings.root, conf.value("PluginDir"));
    let selector = Selector::of(&conf, release).map_err(|why| Failure::Unreadable(path.to_owned(), why))?;
    let partitions = StaticPartitions::of(&conf);
    let has_pool = vipu_conf::load_file(&vipu_conf).is_ok_and(|file| file.settings.mode == Mode::Pool);
    let (scripts, script_notes) = scripts::find(&conf, folder, partitions.is_some());
    let models = Models::of(&conf).offered.0;
    let has_file = |model: &ModelName| {
        let file = folder.join(format!("{model}.conf"));
        file != vipu_conf && file.exists()
    };
    Ok(Found {
        plugstack: existing(&plugstack_path, Plugstack::read(&plugstack_path, &mut SlurmFiles))?,
        gres: existing(&gres_path, SlurmConf::read(&gres_path, &mut SlurmFiles))?,
        has_own_files: !models.is_empty() && models.keys().all(has_file),
        keeps_sizes: pool || has_pool,
        settings: scripts::find_settings(surroundings, &scripts),
        has_allocs: folder.join(scripts::ALLOCS).exists(),
        conf,
        plugstack_path,
        gres_path,
        vipu_conf,
        partitions,
        selector,
        scripts,
        script_notes,
    })
}

/// The content of a file, which is empty if there is no such file.
fn existing<T: Default>(path: &Path, read: io::Result<T>) -> Result<T, Failure> {
    match read {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        read => read.map_err(|why| Failure::Unreadable(path.to_owned(), words!("cannot read it: {why}"))),
    }
}

/// The text of a file, `None` if there is no such file.
fn text(path: &Path) -> Result<Option<String>, Failure> {
    existing(path, SlurmFiles.read(path).map(Some))
}

/// The change as a unified diff.
fn diff(change: &Change) -> String {
    // patch follows no link.
    let path = fs::canonicalize(&change.path).unwrap_or_else(|_| change.path.clone());
    let path = path.display().to_string();
    let old = change.old.as_ref().map_or("/dev/null", |_| &path);
    // A line ends with LF alone, and not with a single CR.
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
    let (before, after) = (lines(change.old.as_deref().unwrap_or_default()), lines(&change.new));
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&before, &after);
    let mut text = format!("--- {old}\n+++ {path}\n");
    for hunk in diff.unified_diff().iter_hunks() {
        text += &format!("{}\n", hunk.header());
        for change in hunk.iter_changes() {
            text.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            text += change.value();
            if !change.value().ends_with('\n') {
                text += "\n\\ No newline at end of file\n";
            }
        }
    }
    text
}
