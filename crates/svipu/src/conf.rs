//! `svipu conf`: checks, shows and writes the configuration of slurm-vipu.

mod check;
mod generate;
mod models;
mod show;

use crate::Output;
use crate::arguments::{Common, Conf};
use crate::error::Failure;
use crate::surroundings::Surroundings;

pub(crate) use models::{Models, read_slurm_conf};

/// Carries out a command.
pub(crate) fn run(
    command: &Conf,
    common: &Common,
    surroundings: &Surroundings,
    output: &mut Output,
) -> Result<String, Failure> {
    match command {
        Conf::Check { files } if files.is_empty() => check::installed(common, surroundings, output),
        Conf::Check { files } => Ok(check::files(files, common, surroundings, output)),
        Conf::Show => show::show(common, surroundings, output),
        Conf::Generate(options) => generate::generate(options, common.model.as_deref()),
    }
}
