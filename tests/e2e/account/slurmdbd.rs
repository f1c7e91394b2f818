//! slurmdbd that goes away and comes back.

use anyhow::Result;
use testbed::{Settings, wait_until};

use super::{add_root, enforcing, limit, shows, uses, was_recorded};
use crate::LIMIT;
use crate::jobs::{cancel, ended, ipus, let_go, restart_slurmctld, running, runs, waits};

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

/// slurmctld that starts without slurmdbd takes users and limits from its own file. When slurmdbd is back,
/// slurmctld makes the counts of all jobs anew.
#[test]
fn acct_slurmctld_starts_without_slurmdbd_and_counts_on() -> Result<()> {
    losing_slurmdbd().run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        limit(cluster, "limited", "MaxTRESPerUser=gres/vipu=32")?;
        let jobs = [running(cluster, 16, &["-qlimited"])?, running(cluster, 16, &["-qlimited", "-N2"])?];
        let third = ipus(cluster, 16, 10, &["-qlimited"])?;
        waits(cluster, third, "QOSMaxGRESPerUser")?;
        cluster.kill_slurmdbd()?;
        restart_slurmctld(cluster)?;
        uses(cluster, "limited", 32)?;
        cluster.start_slurmdbd()?;
        // slurmctld looks when slurmdbd has taken a record.
        let begun = cluster.sbatch("true", &["-qnormal"])?;
        ended(cluster, begun, "COMPLETED")?;
        let log = || cluster.slurmctld_log();
        wait_until("slurmctld to go over its jobs", LIMIT, || Ok(log().contains("now assoc is ")))?;
        wait_until("the counts", LIMIT, || {
            Ok(log().contains("running jobs whose IPUs are entered again: 2"))
        })?;
        jobs.iter().try_for_each(|job| shows(cluster, *job, 16))?;
        uses(cluster, "limited", 32)?;
        waits(cluster, third, "QOSMaxGRESPerUser")?;
        cancel(cluster, third)?;
        jobs.iter().try_for_each(|job| let_go(cluster, *job))?;
        uses(cluster, "limited", 0)?;
        jobs.iter().try_for_each(|job| was_recorded(cluster, *job, 16))
    })
}
