//! `svipu migrate`: what a site has to change that used one of the vendor's ways to run IPU jobs.
//!
//! Nothing is written. The files that can be changed by rule come as a unified diff. The notes above it name
//! what somebody has to decide: scripts, and facts that no file has.

mod conf_files;
mod edits;
mod scripts;

use std::io;
use std::path::{Path, PathBuf};

use similar::TextDiff;
use slurm_conf::{Files as _, Plugstack, SlurmConf};
use vipu_conf::Mode;
use vipu_types::{ModelName, Words, words};

use crate::arguments::Common;
use crate::error::Failure;
use crate::page::{Page, Tone};
use crate::slurm_files::{Models, SlurmFiles, read_slurm_conf, slurm_conf_path};
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
    scripts: Vec<scripts::Script>,
    /// A note about each script that cannot be read.
    unreadable: Vec<Words>,
    settings: scripts::Settings,
    has_allocs: bool,
}

/// The page of the command.
pub(crate) fn show(
    slurm_conf: Option<&Path>,
    pool: bool,
    common: &Common,
    surroundings: &Surroundings,
) -> Result<String, Failure> {
    let path = slurm_conf.map_or_else(|| slurm_conf_path(surroundings), Path::to_owned);
    // The diff names whole paths, so that it can be applied in any folder.
    let path = std::path::absolute(&path).unwrap_or(path);
    let found = find(&path, pool, surroundings)?;
    let plan = conf_files::plan(&found)?;
    let mut page = blank_page(common, surroundings);
    plan.notes.iter().for_each(|note| page.toned(&[(Tone::Bold, "# "), (Tone::Plain, note)]));
    let changes = plan.changes.iter().filter(|change| change.old.as_deref() != Some(&change.new));
    let changes: Vec<_> = changes.collect();
    if changes.is_empty() {
        page.line("# The configuration files need no change.");
    }
    changes.into_iter().for_each(|change| add(&mut page, change));
    Ok(page.finish())
}

fn find(path: &Path, pool: bool, surroundings: &Surroundings) -> Result<Found, Failure> {
    let conf = read_slurm_conf(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let plugstack_path =
        conf.value("PlugStackConfig").map_or_else(|| folder.join("plugstack.conf"), PathBuf::from);
    let gres_path = folder.join("gres.conf");
    let plugstack = Plugstack::read(&plugstack_path, &mut SlurmFiles);
    let gres = SlurmConf::read(&gres_path, &mut SlurmFiles);
    let (mut scripts, mut unreadable) = (Vec::new(), Vec::new());
    for script in scripts::find(&conf, folder) {
        match script {
            Ok(script) => scripts.push(script),
            Err(note) => unreadable.push(note),
        }
    }
    let settings = scripts::find_settings(surroundings, &scripts);
    let has_allocs = folder.join(scripts::ALLOCS).exists();
    let plugstack = existing(&plugstack_path, plugstack)?;
    let gres = existing(&gres_path, gres)?;
    let vipu_conf = folder.join("vipu.conf");
    let models = Models::of(&conf).offered.0;
    let has_file = |model: &ModelName| folder.join(format!("{model}.conf")).exists();
    let has_own_files = !models.is_empty() && models.keys().all(has_file);
    let has_pool = vipu_conf::load_file(&vipu_conf).is_ok_and(|file| file.settings.mode == Mode::Pool);
    let keeps_sizes = pool || has_pool;
    Ok(Found {
        conf,
        plugstack,
        plugstack_path,
        gres,
        gres_path,
        vipu_conf,
        has_own_files,
        keeps_sizes,
        scripts,
        unreadable,
        settings,
        has_allocs,
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

fn add(page: &mut Page, change: &Change) {
    let path = change.path.display().to_string();
    let old = change.old.as_ref().map_or("/dev/null", |_| &path);
    let diff = TextDiff::from_lines(change.old.as_deref().unwrap_or_default(), &change.new);
    for line in diff.unified_diff().header(old, &path).to_string().lines() {
        let tone = match line.chars().next() {
            Some('+') => Tone::Green,
            Some('-') => Tone::Red,
            Some('@') => Tone::Cyan,
            _ => Tone::Plain,
        };
        page.line_of_file(tone, line);
    }
}
