//! Which release of Slurm loaded us.
//!
//! The stock selectors lie beside `libslurmfull.so` and carry the exact `SLURM_VERSION_NUMBER` that Slurm
//! demands of every plugin; it is read from there before Slurm looks at ours.

use std::path::PathBuf;
use std::sync::OnceLock;

use slurm_release::{PROVEN, Release};

use crate::object::{self, Object};
use crate::symbols;

/// The running Slurm: its release, and the folder of its stock plugins.
#[derive(Debug)]
pub struct Loaded {
    /// The release, whose offsets are the ones to use.
    pub release: &'static Release,
    /// Where `select_cons_tres.so` was found.
    pub stock_plugins: PathBuf,
}

/// Finds the release, once.
///
/// # Errors
/// One line for the administrator: no stock selector found, or a release we were not proven on.
pub fn loaded() -> Result<&'static Loaded, String> {
    static LOADED: OnceLock<Result<Loaded, String>> = OnceLock::new();
    LOADED.get_or_init(find).as_ref().map_err(Clone::clone)
}

fn find() -> Result<Loaded, String> {
    let (stock_plugins, number) = stock_selector().ok_or_else(|| {
        "found no select_cons_tres.so beside libslurmfull.so; install Slurm's basic plugins".to_owned()
    })?;
    match Release::proven(number) {
        Some(release) => Ok(Loaded { release, stock_plugins }),
        None => Err(format!(
            "Slurm {} is not supported by this build (supported: {}); see docs/releases.md",
            Release::name_of(number),
            PROVEN.join(", ")
        )),
    }
}

/// The folder of the stock selector and the version number it was built with.
fn stock_selector() -> Option<(PathBuf, u32)> {
    // slurm_api_version is in libslurmfull and libslurm of every release, which programs are linked with.
    let library = symbols::find(c"slurm_api_version").and_then(object::folder_of);
    let beside = library.iter().flat_map(|dir| [dir.clone(), dir.join("slurm-wlm"), dir.join("slurm")]);
    object::own_folder().into_iter().chain(beside).find_map(|folder| {
        let selector = Object::open(&folder.join("select_cons_tres.so")).ok()?;
        let version = selector.symbol(c"plugin_version")?.cast::<u32>();
        // SAFETY: no lock needed; every Slurm plugin exports plugin_version as a constant uint32.
        Some((folder, unsafe { version.read() }))
    })
}
