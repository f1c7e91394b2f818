//! Finds the programs and plugins under test: by environment variable, beside the test binary, or in PATH.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use slurm_release::Version;

/// Folders of daemons that a user's PATH may lack.
const SYSTEM_DIRS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// Our plugins, under the names that Slurm looks for.
pub const PLUGINS: [&str; 5] =
    ["select_vipu.so", "job_submit_vipu.so", "vipu_slurmctld.so", "gres_vipu.so", "spank_ipuof.so"];

pub const OPTIONAL: &str = "gres_vipu.so";

/// The program that a plugin runs, in the plugin's own folder.
pub const HELPER: &str = "ipuof-fetch";

pub const WITH_FAILPOINTS: &str = "vipu_slurmctld.so";

/// Finds a program: by its variable (`SLURMCTLD` for `slurmctld`, `MOCK_VIPU_SERVER` for `mock-vipu-server`),
/// then beside the running binary or one folder up, where cargo puts programs, then in PATH.
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

pub fn slurm_version() -> Result<Version> {
    let output = Command::new(find("slurmctld")?).arg("-V").output().context("cannot run slurmctld -V")?;
    version_shown(&String::from_utf8_lossy(&output.stdout))
}

/// Parses the output of a Slurm program that was run with `-V`.
pub fn version_shown(shown: &str) -> Result<Version> {
    let version = shown.split_whitespace().next_back().and_then(|word| word.parse().ok());
    version.with_context(|| format!("'{}' names no release of Slurm", shown.trim()))
}

/// The folder of the stock Slurm plugins: `SLURM_PLUGIN_DIR`, or the folders that Debian and source builds
/// use.
pub fn stock_plugins() -> Result<PathBuf> {
    let named = env::var_os("SLURM_PLUGIN_DIR").map(PathBuf::from).into_iter();
    let arch = format!("/usr/lib/{}-linux-gnu/slurm-wlm", env::consts::ARCH);
    let usual = [arch.as_str(), "/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm"];
    named
        .chain(usual.map(PathBuf::from))
        .find(|dir| dir.join("select_cons_tres.so").is_file())
        .context("no folder with select_cons_tres.so; name it in SLURM_PLUGIN_DIR")
}

/// A build of the plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Build {
    /// The one that cargo has made of this workspace.
    #[default]
    Own,
    /// The one in this folder, under the names that Slurm looks for.
    In(PathBuf),
}

impl Build {
    /// The build of an earlier commit: that of the folder `VIPU_EARLIER_DIR`.
    pub fn earlier() -> Result<Self> {
        let folder = env::var_os("VIPU_EARLIER_DIR");
        Ok(Self::In(folder.context("no earlier build: run `cargo xtask upgrade`")?.into()))
    }

    /// The path of a plugin, or of [`HELPER`].
    pub fn file(&self, name: &str) -> Result<PathBuf> {
        match self {
            Self::Own if name == HELPER => own_helper(),
            Self::Own => own_plugin(name),
            Self::In(folder) => Ok(folder.join(name)),
        }
    }
}

/// The path of our plugin of this name, for example `select_vipu.so`. It is in the folder `VIPU_PLUGIN_DIR`,
/// or in cargo's release folder beside that of the running binary, with `lib` before its name.
pub fn own_plugin(name: &str) -> Result<PathBuf> {
    built("VIPU_PLUGIN_DIR", "release", name, &format!("lib{name}"))
}

pub fn own_helper() -> Result<PathBuf> {
    built("VIPU_PLUGIN_DIR", "release", HELPER, HELPER)
}

/// The path of the test build of [`WITH_FAILPOINTS`]: in the folder `VIPU_FAULTS_DIR`, or as for
/// [`own_plugin`], in the folder `faults` beside those of cargo.
pub fn test_plugin() -> Result<PathBuf> {
    built("VIPU_FAULTS_DIR", "faults", WITH_FAILPOINTS, &format!("lib{WITH_FAILPOINTS}"))
}

/// Finds a file: `name` in the folder of `variable`, or `as_built` where cargo puts it.
fn built(variable: &str, folder: &str, name: &str, as_built: &str) -> Result<PathBuf> {
    let named = env::var_os(variable).map(|dir| Path::new(&dir).join(name));
    let own = env::current_exe()?;
    let built = own.ancestors().skip(2).map(|dir| dir.join(folder).join(as_built));
    named.into_iter().chain(built).find(|file| file.is_file()).with_context(|| {
        format!("{name} is not built: run `cargo xtask test`, or name its folder in {variable}")
    })
}
