//! slurm-vipu-setup: links the plugins into a plugin directory of Slurm, and prepares a site to leave slurm-vipu.
//!
//! It edits no configuration file, and starts and stops no daemon. The library has the whole program, so that a test of
//! another crate can read its command line.
#![forbid(unsafe_code)]

mod leave;
mod plugin_links;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, CommandFactory as _, Parser, Subcommand};

use leave::Step;

/// Links the plugins of slurm-vipu into a plugin directory of Slurm, or prepares a site to leave slurm-vipu.
#[derive(Parser)]
#[command(
    name = "slurm-vipu-setup",
    version,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    #[command(flatten)]
    links: Links,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Links to the plugins.
#[derive(Args)]
struct Links {
    /// Link all plugins into this plugin directory of Slurm, for a Slurm that was not packaged.
    ///
    /// `PluginDir=` with both directories in slurm.conf does without links.
    #[arg(long, value_name = "DIR")]
    plugindir: Option<PathBuf>,
    /// Remove the links again.
    #[arg(long, requires = "plugindir")]
    remove: bool,
    /// The folder with the plugins.
    #[arg(long, value_name = "DIR", requires = "plugindir", default_value = "/usr/lib/slurm-vipu")]
    from: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Show what would be left, or is left, when SelectType goes back to the stock selector.
    ///
    /// Exit status: 0 if nothing is left, 1 if something is, 2 after an error.
    #[command(arg_required_else_help = true)]
    Leave {
        #[command(flatten)]
        step: Step,
        /// slurm.conf [default: the variable SLURM_CONF, or /etc/slurm/slurm.conf].
        #[arg(long, value_name = "FILE")]
        slurm_conf: Option<PathBuf>,
    },
    /// Write the man pages into a directory.
    #[command(hide = true)]
    Man { directory: PathBuf },
}

/// The definition of the command line.
#[must_use]
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Does what the command line of this process says.
#[must_use]
pub fn run_command_line() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("slurm-vipu-setup: {why:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Links { plugindir, remove, from } = &arguments.links;
    if let Some(directory) = plugindir {
        match remove {
            true => plugin_links::remove(from, directory)?,
            false => plugin_links::make(from, directory)?,
        }
    }
    match &arguments.command {
        Some(Command::Leave { step, slurm_conf }) => leave::run(step, slurm_conf.as_deref()),
        Some(Command::Man { directory }) => {
            clap_mangen::generate_to(command(), directory)?;
            Ok(ExitCode::SUCCESS)
        }
        None => Ok(ExitCode::SUCCESS),
    }
}
