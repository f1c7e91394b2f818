//! slurmdbd that goes away and comes back.

use anyhow::Result;
use testbed::Settings;

use super::{add_root, enforcing, limit, shows, uses, was_recorded};
use crate::jobs::{ipus, let_go, running, runs, waits};

/// A cluster whose slurmctld may complain of slurmdbd.
fn losing_slurmdbd() -> Settings {
    let told = ["slurmdbd", "persist", "DBD_", "Connection refused", "database appears down"];
    told.into_iter().fold(enforcing().nodes(2), Settings::expect_log)
}

#[test]
fn acct_jobs_start_and_end_without_slurmdbd_and_are_in_it_later() -> Result<()> {
    losing_slurmdbd().run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        limit(cluster, "limited", "MaxTRESPerUser=gres/vipu=32")?;
        let before = running(cluster, 16, &["-qlimited"])?;
        cluster.kill_slurmdbd()?;
        let_go(cluster, before)?;
        let jobs = [running(cluster, 16, &["-qlimited"])?, running(cluster, 16, &["-qlimited", "-N2"])?];
        let third = ipus(cluster, 16, 10, &["-qlimited", "-N2"])?;
        waits(cluster, third, "QOSMaxGRESPerUser")?;
        uses(cluster, "limited", 32)?;
        let_go(cluster, jobs[0])?;
        runs(cluster, third)?;
        cluster.start_slurmdbd()?;
        was_recorded(cluster, before, 16)?;
        was_recorded(cluster, jobs[0], 16)?;
        uses(cluster, "limited", 32)?;
        for job in [jobs[1], third] {
            shows(cluster, job, 16)?;
            let_go(cluster, job)?;
            was_recorded(cluster, job, 16)?;
        }
        uses(cluster, "limited", 0)
    })
}
