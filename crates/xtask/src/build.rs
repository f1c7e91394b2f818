//! Building what real daemons load and what the testbed starts.

use std::{env, process::ExitCode};

use anyhow::Result;
use clap::Args;

use crate::{packages, run};

/// For commands that measure on real daemons: slurmctld needs to be started by root.
#[derive(Args)]
pub struct Ready {
    /// All is installed and built.
    #[arg(long, hide = true)]
    built: bool,
}

impl Ready {
    /// Installs and builds what is missing. If the process is not root, it then runs this command again as root, and returns how
    /// that ended.
    pub fn or_again(&self) -> Result<Option<ExitCode>> {
        if !self.built {
            packages::install_missing(&packages::SLURM)?;
            plugins_and_programs()?;
        }
        if run::is_root() {
            return Ok(None);
        }
        let mut again = run::as_root(&env::current_exe()?.display().to_string());
        again.args(env::args_os().skip(1)).arg("--built");
        Ok(Some(if again.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
    }
}

/// Builds what tests need: [`plugins_and_programs`], and the plugin that can be stopped on its way.
pub fn for_tests() -> Result<()> {
    plugins_and_programs()?;
    // Into a folder of its own: what is shipped is tested, too.
    let failpoints = ["--package", "slurmctld-vipu", "--features", "failpoints"];
    run::cargo(&[&["build", "--profile", "faults"], &failpoints[..]].concat())
}

/// Builds the plugins and their helper as they are shipped, and the programs beside this one: all where the testbed finds them.
pub fn plugins_and_programs() -> Result<()> {
    let plugins =
        ["select-vipu", "job-submit-vipu", "slurmctld-vipu", "gres-vipu", "spank-ipuof", "ipuof-fetch"];
    let mut release = vec!["build", "--release"];
    release.extend(plugins.iter().flat_map(|plugin| ["--package", plugin]));
    run::cargo(&release)?;
    run::cargo(&["build", "--package", "mock-vipu", "--package", "testbed", "--bins"])
}
