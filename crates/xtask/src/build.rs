//! Building what real daemons load and what the testbed starts.

use anyhow::Result;

use crate::run;

/// Builds the plugins as they are shipped, and the programs beside this one, where the testbed finds them.
pub fn plugins_and_programs() -> Result<()> {
    let plugins = ["select-vipu", "job-submit-vipu", "slurmctld-vipu", "spank-ipuof"];
    let mut release = vec!["build", "--release"];
    release.extend(plugins.iter().flat_map(|plugin| ["--package", plugin]));
    run::cargo(&release)?;
    run::cargo(&["build", "--package", "mock-vipu", "--package", "testbed", "--bins"])
}
