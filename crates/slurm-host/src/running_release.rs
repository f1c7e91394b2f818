//! Finds the release of the Slurm that loaded us.
//!
//! The stock selectors lie beside `libslurmfull.so`. They carry the exact `SLURM_VERSION_NUMBER` that Slurm
//! demands of every plugin. This module reads the number there before Slurm looks at ours.

use std::ffi::c_char;
use std::path::PathBuf;
use std::sync::OnceLock;

use slurm_release::table_file::{self, Table};
use slurm_release::{Release, Series, Version, known_releases};
use vipu_types::{Words, words};

use crate::record::text_of_c;
use crate::shared_object::{self, Object};
use crate::{log, symbols};

/// The running Slurm: its release, and the folder of its stock plugins.
#[derive(Debug)]
pub struct RunningSlurm {
    /// The release, which has the offsets to use.
    pub release: &'static Release,
    /// The folder that contains `select_cons_tres.so`.
    pub stock_plugins: PathBuf,
    /// The table file that describes the release; `None` if the built-in table is used.
    pub table: Option<PathBuf>,
}

/// Finds the release, once per process.
///
/// # Errors
/// No stock selector was found, it is of another Slurm, or the release is not known.
pub fn loaded() -> Result<&'static RunningSlurm, Words> {
    static LOADED: OnceLock<Result<RunningSlurm, Words>> = OnceLock::new();
    LOADED.get_or_init(find).as_ref().map_err(Clone::clone)
}

fn find() -> Result<RunningSlurm, Words> {
    let (stock_plugins, selector) = stock_selector()
        .ok_or("found no select_cons_tres.so beside libslurmfull.so; install Slurm's basic plugins")?;
    if is_ours(selector) {
        return Err(words!(
            "{}/select_cons_tres.so is select_vipu.so of slurm-vipu, not Slurm's: install that as select_vipu.so, and \
             Slurm's basic plugins anew",
            stock_plugins.display()
        ));
    }
    let version = version_of(selector).ok_or("select_cons_tres.so has no plugin_version")?;
    if let Some(running) = running_series().filter(|running| *running != version.series()) {
        return Err(words!(
            "{}/select_cons_tres.so is of Slurm {version}, but this is Slurm {running}: install the packages of one \
             Slurm release, and only its plugins in PluginDir",
            stock_plugins.display()
        ));
    }
    let (release, table) = release(version)?;
    Ok(RunningSlurm { release, stock_plugins, table })
}

/// Returns the series of the running libslurm, or `None` if it is newer than all known series.
fn running_series() -> Option<Series> {
    // SAFETY: `long slurm_api_version(void)` in every release.
    let version =
        unsafe { symbols::function::<unsafe extern "C" fn() -> libc::c_long>(c"slurm_api_version") }?;
    // SAFETY: no lock needed, it returns a constant.
    let soname = unsafe { version() } >> 16;
    Series::of_soname(u32::try_from(soname).ok()?)
}

/// Returns the table of a release: that of the table file if the file describes the release, else the
/// built-in one.
///
/// The file lies beside slurm.conf. It may also lie beside the plugin, for hosts to which slurmctld sends
/// only slurm.conf.
fn release(version: Version) -> Result<(&'static Release, Option<PathBuf>), Words> {
    let folders = conf_folder_at_load().into_iter().chain(shared_object::own_folder());
    let table = table_file::find(folders);
    match (table, version.known()) {
        (Ok(Some((path, table))), _) if table.release.version == version => {
            let read = format!("the layout of Slurm {version} is read from {}", path.display());
            log::info_of_slurmctld(&format!("select/vipu: {read}"));
            Ok((Box::leak(Box::new(table.release)), Some(path)))
        }
        (Ok(Some((path, table))), Some(known)) => {
            let other = format!("{} is of Slurm {}, not used", path.display(), table.release.version);
            log::info_of_slurmctld(&format!("select/vipu: {other}"));
            Ok((known, None))
        }
        (Err(why), Some(known)) => {
            log::error(&format!(
                "select/vipu: {why}; until then what is built in for Slurm {version} is used"
            ));
            Ok((known, None))
        }
        (Ok(None), Some(known)) => Ok((known, None)),
        (table, None) => Err(unknown(version, table)),
    }
}

/// Returns the folder of slurm.conf before the release is known.
///
/// Slurm puts the path of slurm.conf into its own environment before it loads a plugin. Without that
/// variable, Slurm uses the path that was compiled in.
pub(crate) fn conf_folder_at_load() -> Option<PathBuf> {
    let compiled_in = || {
        let path = symbols::find(c"default_slurm_config_file")?.cast::<*const c_char>();
        // SAFETY: no lock needed; a `char *` in every release that never changes.
        unsafe { text_of_c(path.read()) }.map(PathBuf::from)
    };
    let file = std::env::var_os("SLURM_CONF").map(PathBuf::from).or_else(compiled_in)?;
    Some(file.parent()?.to_owned())
}

fn unknown(version: Version, table: Result<Option<(PathBuf, Table)>, String>) -> Words {
    let found = match table {
        Ok(Some((path, table))) => format!("{} is of Slurm {}", path.display(), table.release.version),
        Ok(None) => format!("there is no {} beside slurm.conf", table_file::NAME),
        Err(why) => why,
    };
    words!(
        "Slurm {version} is not known to this build (known: {}) and {found}; measure it with \
         `cargo xtask layout --source DIR`, see docs/releases.md",
        known_releases()
    )
}

/// Returns the stock selector and its folder.
fn stock_selector() -> Option<(PathBuf, Object)> {
    // In every release slurm_api_version is in libslurmfull and libslurm, with which programs are linked.
    let library = symbols::find(c"slurm_api_version").and_then(shared_object::folder_of);
    let beside = library.iter().flat_map(|dir| [dir.clone(), dir.join("slurm-wlm"), dir.join("slurm")]);
    shared_object::own_folder().into_iter().chain(beside).find_map(|folder| {
        let selector = Object::open(&folder.join("select_cons_tres.so")).ok()?;
        selector.symbol(c"plugin_version").map(|_| (folder, selector))
    })
}

/// Returns the version with which a plugin was built.
fn version_of(plugin: Object) -> Option<Version> {
    let version = plugin.symbol(c"plugin_version")?.cast::<u32>();
    // SAFETY: no lock needed; every Slurm plugin exports plugin_version as a constant uint32.
    Some(Version(unsafe { version.read() }))
}

/// Whether a plugin is our selector. Under that name it would take itself for the stock selector.
fn is_ours(selector: Object) -> bool {
    // SAFETY: every Slurm plugin exports plugin_type as a constant C string.
    let kind = selector.symbol(c"plugin_type").and_then(|kind| unsafe { text_of_c(kind.as_ptr().cast()) });
    kind.is_some_and(|kind| kind == "select/vipu")
}
