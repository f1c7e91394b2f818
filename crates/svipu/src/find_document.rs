//! Finds and reads the status document, and tells its age.

use std::fs;
use std::path::{Path, PathBuf};

use slurm_conf::Plugstack;
use vipu_status::{OLD, Status, file_names};
use vipu_types::words;

use crate::error::Failure;
use crate::read_document::Source;
use crate::slurm_files::SlurmFiles;
use crate::surroundings::Surroundings;
use crate::times::span;

/// The document at its [`place`].
pub(crate) fn find(
    option: Option<&Path>,
    configured: Option<&Path>,
    surroundings: &Surroundings,
) -> Result<Source, Failure> {
    at(place(option, configured, surroundings)?)
}

/// The place where the document is looked for: a file, a directory, or the address of an exporter. `option` is that of
/// `--status`, `configured` that of svipu.toml.
pub(crate) fn place(
    option: Option<&Path>,
    configured: Option<&Path>,
    surroundings: &Surroundings,
) -> Result<PathBuf, Failure> {
    let given = option.map(Path::to_owned);
    let given = given.or_else(|| surroundings.variable("SVIPU_STATUS").map(PathBuf::from));
    let given = given.or_else(|| configured.map(Path::to_owned));
    given.or_else(|| ipuof_dir(surroundings).filter(|it| it.is_dir())).ok_or(Failure::NotFound)
}

/// The document at a place.
pub(crate) fn at(place: PathBuf) -> Result<Source, Failure> {
    match Source::from(place) {
        Source::File(path) if path.is_dir() => in_directory(&path).map(Source::File),
        source => Ok(source),
    }
}

/// The document in a directory: the whole one, or else the one for all users.
fn in_directory(directory: &Path) -> Result<PathBuf, Failure> {
    let whole = directory.join(file_names::WHOLE);
    if whole.exists() {
        return Ok(whole);
    }
    let unreadable = |why| Failure::Unreadable(directory.to_owned(), words!("cannot list it: {why}"));
    let names = fs::read_dir(directory).map_err(unreadable)?.flatten().map(|entry| entry.file_name());
    let public = names.filter(|name| name.to_str().is_some_and(file_names::is_public));
    let mut public: Vec<_> = public.map(|name| directory.join(name)).collect();
    public.sort();
    match public.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Failure::NoneIn(directory.to_owned())),
        several => Err(Failure::SeveralClusters(several.to_vec())),
    }
}

/// The directory of IPUoF files, as plugstack.conf names it.
pub(crate) fn ipuof_dir(surroundings: &Surroundings) -> Option<PathBuf> {
    let beside = surroundings.variable("SLURM_CONF").and_then(|conf| Path::new(conf).parent());
    let folders = beside.map(Path::to_owned).into_iter().chain([surroundings.etc.join("slurm")]);
    folders.map(|folder| folder.join("plugstack.conf")).find_map(|file| {
        let stack = Plugstack::read(&file, &mut SlurmFiles).ok()?;
        Some(stack.plugin("spank_ipuof.so")?.argument("ipuof_dir")?.into())
    })
}

/// Reads a document, as this user may see it.
pub(crate) fn read(source: &Source, user: u32) -> Result<Status, Failure> {
    source.read_as(user).map_err(|why| Failure::NoDocument(source.clone(), why))
}

/// The age in words. It is on each page.
pub(crate) fn age(status: &Status, now: i64) -> String {
    format!("as of {} ago", span(now.saturating_sub(status.written)))
}

/// The warning about an age that should not be.
pub(crate) fn warning(status: &Status, now: i64) -> Option<String> {
    let age = now.saturating_sub(status.written);
    if age > OLD {
        return Some(format!("the status is {} old: slurmctld may be down", span(age)));
    }
    let ahead = span(age.saturating_neg());
    (age < -OLD).then(|| format!("the status was written {ahead} in the future: compare the clocks"))
}
