//! Where the programs and plugins under test are: environment variable, beside the test binary, PATH.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// Where daemons live that a user's PATH may leave out.
const SYSTEM_DIRS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// Finds a program: `SLURMCTLD` for `slurmctld`, `MOCK_VIPU_SERVER` for `mock-vipu-server`; then beside
/// the running binary or one folder up, where cargo puts programs; then in PATH.
///
/// # Errors
/// When it is nowhere.
pub fn find(name: &str) -> Result<PathBuf> {
    let variable = name.to_uppercase().replace('-', "_");
    if let Some(path) = env::var_os(&variable) {
        return Ok(path.into());
    }
    let own = env::current_exe()?;
    let beside = own.ancestors().skip(1).take(2).map(Path::to_owned);
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = beside.chain(env::split_paths(&path)).chain(SYSTEM_DIRS.map(PathBuf::from));
    let mut candidates = dirs.map(|dir| dir.join(name));
    candidates
        .find(|candidate| candidate.is_file())
        .with_context(|| format!("'{name}' is neither in PATH nor named by the variable {variable}"))
}

/// The folder of the stock Slurm plugins: `SLURM_PLUGIN_DIR`, else where Debian or a source build puts them.
///
/// # Errors
/// When none of them has `select_cons_tres.so`.
pub fn stock_plugins() -> Result<PathBuf> {
    let named = env::var_os("SLURM_PLUGIN_DIR").map(PathBuf::from).into_iter();
    let arch = format!("/usr/lib/{}-linux-gnu/slurm-wlm", env::consts::ARCH);
    let usual = [arch.as_str(), "/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm"];
    named
        .chain(usual.map(PathBuf::from))
        .find(|dir| dir.join("select_cons_tres.so").is_file())
        .context("no folder with select_cons_tres.so; name it in SLURM_PLUGIN_DIR")
}

/// The folder of our own plugins as cargo names them: `VIPU_PLUGIN_DIR`, else the release folder beside
/// that of the running binary.
///
/// # Errors
/// When they are not there.
pub fn own_plugins() -> Result<PathBuf> {
    if let Some(dir) = env::var_os("VIPU_PLUGIN_DIR") {
        return Ok(dir.into());
    }
    let own = env::current_exe()?;
    let mut releases = own.ancestors().skip(2).map(|dir| dir.join("release"));
    releases
        .find(|dir| dir.join("libselect_vipu.so").is_file())
        .context("the plugins are not built: run `cargo xtask test`, or name their folder in VIPU_PLUGIN_DIR")
}
