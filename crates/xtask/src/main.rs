//! Project tasks: `cargo xtask demo`, `test`, `simulate`, `image`, `layout`, `fuzz`, `valgrind`, `ci`.
#![forbid(unsafe_code)]

mod build;
mod cargo_deny;
mod ci;
mod crate_layers;
mod demo;
mod faults;
mod fuzz;
mod image;
mod import_circles;
mod layout;
mod matrix;
mod needed_packages;
mod results;
mod run;
mod rust_paths;
mod second_try;
mod test_run;
mod valgrind;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, ValueEnum};
use testbed::programs;

use crate::results::Table;

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
        /// Instead, run every step of a job x every fault, and write the table of docs/faults.md.
        #[arg(long, value_enum, conflicts_with = "matrix")]
        faults: Option<faults::Extent>,
        /// Run the end-to-end tests in containers, on the Slurm of each Debian suite, with the same plugin files.
        #[arg(long)]
        matrix: bool,
        /// With --matrix: on these suites only.
        #[arg(long, value_enum, requires = "matrix")]
        suite: Vec<image::Suite>,
        /// With --matrix: where Debian's packages are, should base images have to be made from them.
        #[arg(long, default_value = image::MIRROR, requires = "matrix")]
        mirror: String,
    },
    /// Make what docker/compose.yaml starts a cluster of: an image with Slurm, and a folder with our plugins and the mock.
    Image {
        /// Of which Debian suite, and so with which Slurm.
        #[arg(long, value_enum, default_value = "bookworm")]
        suite: image::Suite,
        /// Where Debian's packages are, should the base image have to be made from them.
        #[arg(long, default_value = image::MIRROR)]
        mirror: String,
    },
    /// Measure a Slurm source tree, so that the plugins know a release that is not built in, or was patched.
    ///
    /// Needs a C compiler; builds nothing of Slurm and writes nothing into its tree. The file belongs beside slurm.conf
    /// on every host that has the plugins. Says too whether the release is built in, and what differs from that.
    Layout {
        /// The source tree, as it is after unpacking: with META, slurm/ and src/ in it.
        #[arg(long, value_name = "DIR")]
        source: PathBuf,
        /// The file to write.
        #[arg(long, value_name = "FILE", default_value = "slurm-layout.conf")]
        out: PathBuf,
    },
    /// Play a synthetic year of IPU jobs, scheduled by several policies, and print how long they waited.
    Simulate {
        /// For the simulation; `-- --help` shows them.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Have libFuzzer feed a target of crates/fuzz.
    Fuzz {
        /// The target.
        #[arg(value_parser = fuzz::TARGETS)]
        target: String,
        /// For how long.
        #[arg(long, default_value_t = 600)]
        seconds: u32,
        /// Take what it found into crates/fuzz/corpus, and leave there only what reaches something of its own.
        #[arg(long)]
        keep: bool,
        /// Do not fuzz, but add the bytes of this file to crates/fuzz/corpus.
        #[arg(long, value_name = "FILE", conflicts_with = "keep")]
        add: Option<std::path::PathBuf>,
    },
    /// Run the life of jobs under valgrind's memcheck, and show what it says of our objects in slurmctld.
    Valgrind,
    /// Check dependencies of crates and modules, formatting, clippy and rustdoc; run all tests on this machine's Slurm, and
    /// those in containers of each Debian suite.
    Ci {
        /// Also run the checks that take hours: cargo-deny, all pairs of the fault matrix, valgrind, ten minutes of each
        /// fuzz target.
        #[arg(long)]
        full: bool,
    },
}

fn main() -> ExitCode {
    run_task(Task::parse()).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run_task(task: Task) -> Result<ExitCode> {
    match task {
        Task::Demo { keep } => {
            needed_packages::install_missing(&needed_packages::SLURM)?;
            build::plugins_and_programs()?;
            if run::is_root() { demo::run(keep) } else { demo::run_as_root(keep) }
        }
        Task::DemoAsRoot { keep } => demo::run(keep),
        Task::Test { filter, faults, matrix, suite, mirror } => {
            let (filter, mut table) = (filter.as_deref(), Table::default());
            if matrix {
                build::for_tests()?;
                let suites = if suite.is_empty() { image::Suite::value_variants() } else { &suite };
                matrix::run(suites, filter, None, &mirror, &mut table)?;
                return Ok(table.finish());
            }
            needed_packages::install_missing(&needed_packages::SLURM)?;
            if filter.is_some_and(|name| name.starts_with(layout::TESTS)) {
                layout::prepare_tests()?;
            }
            build::for_tests()?;
            let results = if faults.is_some() { faults::run(filter)? } else { test_run::run(filter)? };
            table.add(programs::slurm_version()?.to_string(), results);
            Ok(table.finish())
        }
        Task::Image { suite, mirror } => {
            image::make(suite, &mirror)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Layout { source, out } => {
            layout::run(&source, &out)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Simulate { arguments } => {
            let command = ["run", "--quiet", "--release", "--package", "simulate", "--"];
            let arguments = arguments.iter().map(String::as_str);
            run::cargo(&command.into_iter().chain(arguments).collect::<Vec<_>>())?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Fuzz { target, seconds, keep, add } => {
            match add {
                Some(input) => fuzz::add(&target, &input)?,
                None => fuzz::run(&target, seconds, keep)?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Task::Valgrind => {
            needed_packages::install_missing(&needed_packages::SLURM)?;
            needed_packages::install_missing(&needed_packages::VALGRIND)?;
            build::plugins_and_programs()?;
            valgrind::run()?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Ci { full } => ci::run(full),
    }
}
