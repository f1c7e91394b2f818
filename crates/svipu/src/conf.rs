//! `svipu conf`: checks, shows and writes the configuration of slurm-vipu.

mod check;
mod generate;
mod models;
mod show;

use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::Output;
use crate::arguments::Common;
use crate::error::Failure;
use crate::surroundings::Surroundings;

pub(crate) use models::{Models, read_slurm_conf};

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check files before slurmctld reads them. Exit status 1: there is an error.
    Check {
        /// Files such as vipu.conf or pod64.conf. Without any: the files of all models in slurm.conf.
        files: Vec<PathBuf>,
    },
    /// Show each key of each model with its value, and whether slurmctld has read it.
    Show,
    /// Write the files of a new site, from what its controllers answer. --model names the model.
    Generate(generate::Generate),
}

/// Carries out a command.
pub(crate) fn run(
    command: &Command,
    common: &Common,
    surroundings: &Surroundings,
    output: &mut Output,
) -> Result<String, Failure> {
    match command {
        Command::Check { files } if files.is_empty() => check::installed(common, surroundings, output),
        Command::Check { files } => Ok(check::files(files, common, surroundings, output)),
        Command::Show => show::show(common, surroundings, output),
        Command::Generate(options) => generate::generate(options, common.model.as_deref()),
    }
}

/// The slurm.conf of this host, as Slurm finds it.
pub(crate) fn slurm_conf_path(surroundings: &Surroundings) -> PathBuf {
    let named = surroundings.variable("SLURM_CONF").map(PathBuf::from);
    named.unwrap_or_else(|| surroundings.etc.join("slurm/slurm.conf"))
}

/// The folder of slurm.conf, in which the files of the models are.
fn folder(slurm_conf: &Path) -> &Path {
    slurm_conf.parent().unwrap_or(Path::new("."))
}
