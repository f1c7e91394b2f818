//! slurm-vipu-setup: links the plugins into a plugin directory of Slurm, and prepares a site to leave slurm-vipu.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    vipu_setup::run_command_line()
}
