//! The choice of the file that has a model's settings.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use vipu_types::{ModelName, ModelPool, OfferedModels, Words};

use crate::choice::{Layer, Mode};
use crate::error::{Broken, LoadError};
use crate::host_map;
use crate::keys::{Key, Settings};
use crate::problem::Reason;
use crate::settings::Given;
use crate::syntax;
use crate::value::{self, AdminSocket};

/// The file of all models without a file of their own.
const SHARED: &str = "vipu.conf";

/// The result of the reading for each model.
pub type Loaded = BTreeMap<ModelName, Result<Good, LoadError>>;

/// A file without an error.
#[derive(Clone, Debug)]
pub struct Good {
    /// Its path.
    pub path: PathBuf,
    /// Its settings.
    pub settings: Settings,
    /// Its whole text.
    pub text: String,
    /// The text of the file with the IPUs of each host, if there is one (`HostMap`).
    pub host_map: Option<String>,
}

/// Reads the settings of every model from the directory of `slurm.conf`.
///
/// Each model has a result of its own: a broken file hurts only the models that read it.
pub fn load(dir: &Path, models: &[ModelName]) -> Loaded {
    models.iter().map(|model| (model.clone(), load_model(dir, model))).collect()
}

/// Reads the settings of the models that nodes offer, as [`load`] does.
pub fn load_offered(dir: &Path, offered: &OfferedModels) -> Loaded {
    let mut loaded = load(dir, &offered.0.keys().cloned().collect::<Vec<_>>());
    if offered.has_sizes() {
        need_pool(&mut loaded);
    }
    loaded
}

/// Refuses a good file without a pool of the model that nodes offer by sizes ([`vipu_types::GresType::Size`]).
/// Only a pool has partitions of some sizes.
pub fn need_pool(loaded: &mut Loaded) {
    let Some(file) = loaded.get_mut(&ModelName::of_sizes()) else { return };
    if let Ok(Good { path, settings, text, .. }) = file
        && settings.mode != Mode::Pool
    {
        let problems = vec![Given::sort(text).0.without_pool()];
        *file = Err(Broken { path: path.clone(), problems }.into());
    }
}

/// What is wrong in `vipu.conf` in `dir` if no model reads it, of which [`load`] then tells nothing. `Layer` and
/// `AdminSocket` are read from it all the same. It may lack keys.
pub fn error_beside(dir: &Path, loaded: &Loaded) -> Option<LoadError> {
    let shared = dir.join(SHARED);
    let target = fs::canonicalize(&shared);
    let is_shared = |path: &Path| {
        path == shared
            || target.as_ref().is_ok_and(|target| fs::canonicalize(path).is_ok_and(|it| it == *target))
    };
    let is_read = |file: &Result<Good, LoadError>| match file {
        Ok(Good { path, .. })
        | Err(LoadError::Broken(Broken { path, .. }) | LoadError::Unreadable { path, .. }) => is_shared(path),
        Err(LoadError::Missing { .. } | LoadError::DanglingLink { .. }) => false,
    };
    if loaded.values().any(is_read) {
        return None;
    }
    let why = load_file(&shared).err()?;
    // That of a HostMap, which has a path of its own.
    let is_told = |known: &LoadError| known.one_line() == why.one_line();
    if loaded.values().any(|file| file.as_ref().is_err_and(is_told)) {
        return None;
    }
    match why {
        LoadError::Unreadable { source, .. } if source.kind() == ErrorKind::NotFound => None,
        LoadError::Broken(Broken { path, mut problems }) => {
            problems.retain(|problem| !matches!(problem.reason, Reason::Missing { .. }));
            (!problems.is_empty()).then_some(LoadError::Broken(Broken { path, problems }))
        }
        why => Some(why),
    }
}

/// The `Layer` of `vipu.conf` in `dir`, if the file is there and gives a valid one.
///
/// Other errors in the file or its directory mean nothing here, because Slurm's commands call this and have
/// to run with a broken file, too.
pub fn layer_of(dir: &Path) -> Option<Layer> {
    Layer::read(&shared_value(dir, &Key::Layer)?).ok()
}

/// The `AdminSocket` of `vipu.conf` in `dir`, if the file is there and gives a valid one. Other errors in the
/// file mean nothing here, so that administrators reach a slurmctld that has a broken file.
pub fn admin_socket_of(dir: &Path) -> Option<AdminSocket> {
    value::admin_socket(&shared_value(dir, &Key::AdminSocket)?).ok()
}

/// The text that `vipu.conf` in `dir` gives for a key.
fn shared_value(dir: &Path, key: &Key) -> Option<String> {
    let text = read(&dir.join(SHARED)).ok()?;
    let mut assignments = syntax::parse(&text).into_iter().flatten();
    let given = assignments.find(|item| Key::find(&item.key.text) == Some(key))?;
    Some(given.value.text)
}

/// The settings of a model on a node, without the file that HostMap names. Only slurmctld needs that file.
///
/// # Errors
/// Those that [`load`] has for the model's own file.
pub fn settings_on_node(dir: &Path, model: &ModelName) -> Result<Settings, LoadError> {
    let (path, text) = file_of(dir, model)?;
    Ok(Settings::parse(&text, &path)?)
}

fn load_model(dir: &Path, model: &ModelName) -> Result<Good, LoadError> {
    let (path, text) = file_of(dir, model)?;
    let file = good(path, text)?;
    file.check_pool(model)?;
    Ok(file)
}

impl Good {
    /// Checks the ids of the pool, which need the name of the model.
    fn check_pool(&self, model: &ModelName) -> Result<(), Broken> {
        let Some(pool) = &self.settings.pool else { return Ok(()) };
        let checked = ModelPool::new(pool.clone(), &self.settings.partition_prefix, model);
        let broken = |why: Words| {
            let problems = vec![Given::sort(&self.text).0.with_bad_pool(why)];
            Broken { path: self.path.clone(), problems }
        };
        checked.map(drop).map_err(broken)
    }
}

/// The file that has a model's settings, with its text.
fn file_of(dir: &Path, model: &ModelName) -> Result<(PathBuf, String), LoadError> {
    let own = dir.join(format!("{model}.conf"));
    let shared = dir.join(SHARED);
    let (path, text) = match read(&own) {
        Ok(text) => (own, text),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if let Ok(target) = fs::read_link(&own) {
                return Err(LoadError::DanglingLink { path: own, target });
            }
            match read(&shared) {
                Ok(text) => (shared, text),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(LoadError::Missing { own, shared });
                }
                Err(source) => return Err(LoadError::Unreadable { path: shared, source }),
            }
        }
        Err(source) => return Err(LoadError::Unreadable { path: own, source }),
    };
    Ok((path, text))
}

/// Reads one file, whatever its name.
///
/// # Errors
/// Those that [`load`] has for a model with this file.
pub fn load_file(path: &Path) -> Result<Good, LoadError> {
    match read(path) {
        Ok(text) => good(path.to_owned(), text),
        Err(source) => Err(LoadError::Unreadable { path: path.to_owned(), source }),
    }
}

fn good(path: PathBuf, text: String) -> Result<Good, LoadError> {
    with_host_map(path, text, |beside, name| beside.with_file_name(name))
}

/// A good file, with the file that its HostMap names. `find` gives the path of that file, from the path of the first
/// and the value of HostMap.
pub(crate) fn with_host_map(
    path: PathBuf,
    text: String,
    find: impl FnOnce(&Path, &Path) -> PathBuf,
) -> Result<Good, LoadError> {
    let mut settings = Settings::parse(&text, &path)?;
    let mut host_map = None;
    if let Some(file) = &mut settings.host_map {
        let own = find(&path, &file.path);
        let unreadable = |source| LoadError::Unreadable { path: own.clone(), source };
        let hosts = host_map.insert(read(&own).map_err(unreadable)?);
        file.map = host_map::parse(hosts, &own)?;
    }
    Ok(Good { settings, path, text, host_map })
}

/// Reads a file that can be a configuration file. Refuses other kinds, as a FIFO would make slurmctld wait
/// for ever. U+FFFD stands for bytes that are no UTF-8, which only comments may have.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    const LARGEST: u64 = 64 << 10;
    let facts = fs::metadata(path)?;
    if !facts.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if facts.len() > LARGEST {
        let why = format!("it has {} bytes, and a file of settings {LARGEST} at most", facts.len());
        return Err(io::Error::other(why));
    }
    let bytes = fs::read(path)?;
    // Editors of Windows put a byte order mark in front.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    Ok(String::from_utf8_lossy(text).into_owned())
}
