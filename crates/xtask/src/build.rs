//! Building what real daemons load and what the testbed starts.

use anyhow::Result;

use crate::run;

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
