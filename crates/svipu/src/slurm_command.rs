//! Runs a command of Slurm, as the user's shell finds it.

use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

use vipu_types::words;

use crate::error::Failure;
use crate::surroundings::Surroundings;

/// A command with the user's environment and no standard input.
pub(crate) fn of(program: &str, surroundings: &Surroundings) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(&surroundings.variables).stdin(Stdio::null());
    command
}

/// The output of the command, whatever its exit status.
pub(crate) fn output(command: &mut Command) -> Result<Output, Failure> {
    command.output().map_err(|why| {
        let program = command.get_program().display();
        Failure::Words(match why.kind() {
            ErrorKind::NotFound => {
                words!("this host has no {program} in PATH, with which svipu asks slurmctld")
            }
            _ => words!("cannot run {program}: {why}"),
        })
    })
}
