//! Project tasks: `cargo xtask demo`, `test`, `bench`, `book`, `simulate`, `image`, `dist`, `layout`, `fuzz`, `valgrind`, `prometheus`,
//! `soak`, `upgrade`, `kubernetes`, `ci`.
#![forbid(unsafe_code)]

mod bench;
mod book;
mod build;
mod cargo_deny;
mod ci;
mod crate_layers;
mod demo;
mod dist;
mod every_release;
mod faults;
mod fuzz;
mod image;
mod import_circles;
mod kubernetes;
mod layout;
mod long_tests;
mod matrix;
mod needed_packages;
#[cfg(test)]
mod page_commands;
#[cfg(test)]
mod page_links;
#[cfg(test)]
mod page_messages;
mod phases;
mod pictures;
mod pool;
mod prometheus;
mod results;
mod run;
mod rust_paths;
mod soak;
mod test_programs;
mod test_run;
mod upgrade;
mod valgrind;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, ValueEnum};
use testbed::{compose, programs};

use crate::matrix::Selection;
use crate::phases::phase;
use crate::pool::Work;
use crate::results::Table;

/// Tasks of the slurm-vipu project.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Run the main job on a real Slurm cluster of its own, and show it.
    Demo {
        /// Leave the cluster up and print how to use and stop it.
        #[arg(long)]
        keep: bool,
    },
    /// The part of the demo that needs root.
    #[command(hide = true)]
    DemoAsRoot {
        #[arg(long)]
        keep: bool,
    },
    /// Draw map.svg and top.svg of docs/pictures from a real Slurm, and print what svipu shows. Needs root.
    Pictures,
    /// Run all tests, or those whose name contains FILTER.
    Test {
        /// Part of a test's name.
        filter: Option<String>,
        /// Run every fault at every step of a job instead, and write the table of docs/faults.md.
        #[arg(long, value_enum, conflicts_with = "matrix")]
        faults: Option<faults::Extent>,
        /// Run the end-to-end tests in containers, on the Slurm of each Debian suite, with the same plugin files.
        #[arg(long)]
        matrix: bool,
        /// With --matrix: run on these suites only.
        #[arg(long, value_enum, requires = "matrix")]
        suite: Vec<image::Suite>,
        /// With --matrix: the address of Debian's packages, from which missing base images are made.
        #[arg(long, default_value = image::MIRROR, requires = "matrix")]
        mirror: String,
    },
    /// Measure slurm-vipu beside stock Slurm as ratios with intervals, and write the table of docs/bench.md. Needs root.
    ///
    /// Takes about half an hour, or 20 minutes with 12 pairs. The machine should do nothing else.
    Bench {
        /// One measurement: launch, burst, jobs, scheduling, squeue, memory or client.
        name: Option<String>,
        /// The most pairs of a row, to save time. The intervals become wider.
        #[arg(long, value_name = "NUMBER")]
        pairs: Option<usize>,
        /// The Slurm of this Debian suite, in a container, instead of the installed one. No table is written.
        #[arg(long, value_enum)]
        suite: Option<image::Suite>,
    },
    /// Make the book of all pages (target/book/book), and check its links.
    Book,
    /// Make an image with Slurm, and a folder with our plugins and the mock, for docker/compose.yaml.
    ///
    /// With --parts: make images of our parts for sites, from the files of the packages.
    Image {
        /// The Debian suite. It decides the release of Slurm.
        #[arg(long, value_enum, default_value = "bookworm")]
        suite: image::Suite,
        /// The address of Debian's packages, from which a missing base image is made.
        #[arg(long, default_value = image::MIRROR)]
        mirror: String,
        /// Make slurm-vipu-files (all files, to copy into other images), slurm-vipu-tools (svipu with the exporter)
        /// and slurm-vipu-mock instead.
        #[arg(long)]
        parts: bool,
        /// With --parts: the tag of the images.
        #[arg(long, default_value = dist::VERSION, requires = "parts")]
        tag: String,
        /// With --parts: the registry in the images' names, as in registry.example.org/hpc.
        #[arg(long, requires = "parts")]
        registry: Option<String>,
    },
    /// Make the packages for sites: deb, rpm and tar.gz, for x86_64 and glibc 2.28 or newer.
    Dist {
        /// The folder of the packages. Earlier packages in it are removed.
        #[arg(long, value_name = "DIR", default_value = dist::OUT)]
        out: PathBuf,
        /// Install, upgrade and remove them in containers of each Debian suite. Needs a Docker engine.
        #[arg(long)]
        trial: bool,
        /// As --trial, but with the objects that the tests use, on this machine's Debian suite only. Keeps no package.
        #[arg(long, conflicts_with_all = ["out", "trial"])]
        quick_trial: bool,
    },
    /// Measure a Slurm source tree, for a release that is not built in or was patched.
    ///
    /// Needs a C compiler. Builds nothing of Slurm and writes nothing into its tree. The file belongs beside
    /// slurm.conf on every host that has the plugins. If the release is built in, prints the differences.
    Layout {
        /// The unpacked source tree, with META, slurm/ and src/.
        #[arg(long, value_name = "DIR")]
        source: PathBuf,
        /// The file to write.
        #[arg(long, value_name = "FILE", default_value = "slurm-layout.conf")]
        out: PathBuf,
    },
    /// Play a synthetic year of IPU jobs, scheduled by several policies, and print how long they waited.
    Simulate {
        /// Arguments of the simulation; `-- --help` lists them.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Run jobs of all kinds while slurmctld and slurmd are stopped and killed every few seconds, and count what
    /// becomes of the jobs. Needs root.
    ///
    /// Fails if a job is lost or runs twice.
    Soak {
        /// The time for which new rounds begin. A round takes up to five minutes.
        minutes: u32,
        /// The Slurm of this Debian suite, in a container, instead of the installed one.
        #[arg(long, value_enum)]
        suite: Option<image::Suite>,
        /// Count the same with stock Slurm, whose PrologSlurmctld takes the time of a create.
        #[arg(long)]
        stock: bool,
        /// The number from which jobs and faults are drawn. Without it, another one each time.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Run a target of crates/fuzz under libFuzzer.
    Fuzz {
        /// The target.
        #[arg(value_parser = fuzz::TARGETS)]
        target: String,
        /// The duration.
        #[arg(long, default_value_t = 600)]
        seconds: u32,
        /// Add the inputs that were found to crates/fuzz/corpus, and keep the smallest set that reaches the same code.
        #[arg(long)]
        keep: bool,
        /// Add the bytes of this file to crates/fuzz/corpus instead.
        #[arg(long, value_name = "FILE", conflicts_with = "keep")]
        add: Option<PathBuf>,
    },
    /// Run jobs with slurmctld under valgrind's memcheck, and show its errors in our objects.
    Valgrind,
    /// Run the tests of the exporter, the alert rules and the dashboard with a real Prometheus.
    Prometheus,
    /// Run the tests of upgrades from an earlier commit to this one, and back, on this machine's Slurm. Needs root.
    Upgrade {
        /// Part of a test's name.
        filter: Option<String>,
        /// The earlier commit.
        #[arg(long, value_name = "COMMIT", default_value = upgrade::FROM)]
        from: String,
    },
    /// Start a Kubernetes cluster on this machine, or end it. Needs root.
    #[command(subcommand)]
    Kubernetes(kubernetes::Action),
    /// Check dependencies of crates and modules, formatting, clippy and rustdoc; run all tests on this machine's Slurm, and
    /// those in containers of each Debian suite; try packages.
    Ci {
        /// Also run the checks that take hours: cargo-deny, all pairs of the fault matrix, valgrind, Prometheus, packages,
        /// upgrades, five minutes of each fuzz target.
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
            build::for_demo(keep)?;
            return if run::is_root() { demo::run(keep) } else { demo::run_as_root(keep) };
        }
        Task::DemoAsRoot { keep } => return demo::run(keep),
        Task::Pictures => {
            needed_packages::install_missing(&needed_packages::SLURM)?;
            build::for_tests()?;
            pictures::run()?;
        }
        Task::Test { filter, faults, matrix, suite, mirror } => {
            let (filter, mut table) = (filter.as_deref(), Table::default());
            if matrix {
                compose::find_engine()?;
                compose::find_compose()?;
                let built = build::for_tests()?;
                let suites = if suite.is_empty() { image::Suite::value_variants() } else { &suite };
                matrix::make_images(suites, &mirror)?;
                let tests = filter.map_or(Selection::All, Selection::Named);
                let works = matrix::works(suites, tests, None, &built, &mut table)?;
                phase("tests on daemons", || pool::run(works, pool::waiting_processes(), &mut table))?;
                return Ok(table.finish());
            }
            needed_packages::install_for_tests()?;
            if filter.is_some_and(|name| name.starts_with(layout::TESTS)) {
                layout::prepare_tests()?;
            }
            let tests = build::for_tests()?;
            let row = programs::slurm_version()?.to_string();
            if faults.is_some() {
                table.add(&row, &faults::run(&tests, filter)?);
                return Ok(table.finish());
            }
            kubernetes::begin_build(&tests, filter)?;
            phase("tests without daemons", || {
                test_run::without_daemons(&tests, filter, &row, test_run::SEEDS, &mut table)
            })?;
            phase("tests on daemons", || {
                let works = test_run::on_daemons(&tests, filter, &[], &row, &mut table)?;
                pool::run(works, pool::waiting_processes(), &mut table)
            })?;
            return Ok(table.finish());
        }
        Task::Bench { name, pairs, suite } => {
            needed_packages::install_missing(&needed_packages::SLURM)?;
            bench::run(name.as_deref(), pairs, suite)?;
        }
        Task::Book => book::run()?,
        Task::Image { suite, mirror, parts: false, .. } => image::make(suite, &mirror)?,
        Task::Image { suite, mirror, tag, registry, .. } => {
            dist::make_images(suite, &mirror, &dist::Names { registry: registry.as_deref(), tag: &tag })?;
        }
        Task::Layout { source, out } => layout::run(&source, &out)?,
        Task::Dist { quick_trial: true, .. } => {
            return run_on_daemons(dist::trial_of_tested_objects(&build::for_tests()?)?);
        }
        Task::Dist { out, trial: true, .. } => {
            return run_on_daemons(dist::trial_of_shipped_objects(&out, &build::for_tests()?)?);
        }
        Task::Dist { out, .. } => dist::run(&out).map(drop)?,
        Task::Simulate { arguments } => {
            let command = ["run", "--quiet", "--release", "--package", "simulate", "--"];
            let arguments = arguments.iter().map(String::as_str);
            run::cargo(&command.into_iter().chain(arguments).collect::<Vec<_>>())?;
        }
        Task::Soak { minutes, suite, stock, seed } => {
            let stock = stock.then(|| "--stock".into());
            let seed = seed.map(|seed| format!("--seed={seed}"));
            let arguments: Vec<_> = [minutes.to_string()].into_iter().chain(stock).chain(seed).collect();
            soak::run(suite, &arguments)?;
        }
        Task::Fuzz { target, add: Some(input), .. } => fuzz::add(&target, &input)?,
        Task::Fuzz { target, seconds, keep, .. } => fuzz::run(&target, seconds, keep)?,
        Task::Valgrind => {
            needed_packages::install_missing(&needed_packages::SLURM)?;
            needed_packages::install_missing(&needed_packages::VALGRIND)?;
            valgrind::run(&build::for_tests()?)?;
        }
        Task::Prometheus => prometheus::run(&build::for_tests()?)?,
        Task::Upgrade { filter, from } => {
            needed_packages::install_missing(&needed_packages::SLURM)?;
            return run_on_daemons(upgrade::works(&build::for_tests()?, &from, filter.as_deref())?);
        }
        Task::Kubernetes(action) => kubernetes::run(action)?,
        Task::Ci { full } => return ci::run(full),
    }
    Ok(ExitCode::SUCCESS)
}

fn run_on_daemons(works: Vec<Work>) -> Result<ExitCode> {
    let mut table = Table::default();
    pool::run(works, pool::waiting_processes(), &mut table)?;
    Ok(table.finish())
}
