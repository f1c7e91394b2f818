//! Project tasks: `cargo xtask demo`, `cargo xtask test`, `cargo xtask ci`.
#![forbid(unsafe_code)]

mod build;
mod demo;
mod packages;
mod run;
mod test_run;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

/// Tasks of the slurm-vipu project.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Run the main job on a real Slurm cluster of its own, and show it.
    Demo {
        /// Leave the cluster up, and say how to use and how to stop it.
        #[arg(long)]
        keep: bool,
    },
    /// The part of the demo that has to be root.
    #[command(hide = true)]
    DemoAsRoot {
        #[arg(long)]
        keep: bool,
    },
    /// Run all tests, or those whose name contains FILTER.
    Test {
        /// Part of a test's name.
        filter: Option<String>,
    },
    /// Formatting, clippy, all tests.
    Ci,
}

fn main() -> Result<ExitCode> {
    match Task::parse() {
        Task::Demo { keep } => {
            packages::install_missing()?;
            build::plugins_and_programs()?;
            if run::is_root() { demo::run(keep) } else { demo::run_as_root(keep) }
        }
        Task::DemoAsRoot { keep } => demo::run(keep),
        Task::Test { filter } => {
            packages::install_missing()?;
            build::plugins_and_programs()?;
            test_run::run(filter.as_deref())
        }
        Task::Ci => {
            run::cargo(&["fmt", "--all", "--", "--check"])?;
            run::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
            packages::install_missing()?;
            build::plugins_and_programs()?;
            test_run::run(None)
        }
    }
}
