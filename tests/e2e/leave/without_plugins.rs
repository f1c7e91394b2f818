//! A slurmctld that has to start without the files of slurm-vipu, while jobs with IPUs run and wait.

use std::fs;

use anyhow::{Result, ensure};
use testbed::main_job;

use super::{leave, remove_ipus, runs_a_stock_job, start_stock, succeeds, use_stock_selector};
use crate::jobs::{brisk, cancel, let_go, partition, running, staying};

#[test]
fn pkg_leave_at_once_keeps_running_jobs() -> Result<()> {
    // Slurm logs the first two when it cannot start, and the last for the job whose node has no more IPUs.
    let settings = brisk().expect_log("fatal: ").expect_log("create select context");
    settings.expect_log("GRES count underflow").run(|cluster| {
        let active = running(cluster, 64, &[])?;
        let waiting = staying(cluster, 4, &[])?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        for file in fs::read_dir(cluster.layout().plugins())? {
            fs::remove_file(file?.path())?;
        }
        // Slurm's own word, which docs/leaving.md quotes.
        let refused = cluster.command("slurmctld").args(&["-D"]).output()?;
        ensure!(refused.code != 0 && refused.stderr.contains("select/vipu"), "{refused:?}");

        use_stock_selector(cluster)?;
        remove_ipus(cluster)?;
        start_stock(cluster)?;
        let log = cluster.slurmctld_log();
        ensure!(!log.contains("gres_job_state_unpack"), "stock Slurm complains of IPU jobs: {log}");
        runs_a_stock_job(cluster)?;
        main_job::start_delay(cluster)?;
        ensure!(cluster.job(waiting)?.state == "PENDING", "{:?}", cluster.job(waiting)?);
        // 22.05 has held it already, for BadConstraints.
        succeeds(cluster, "--hold")?;
        let held = cluster.scontrol(&["show", "job", &waiting.to_string()])?;
        ensure!(held.contains("Priority=0 "), "{held}");

        let checked = leave(cluster, "--check")?;
        let words = format!("1 job has IPUs: {active}; their partitions stay until you remove them");
        ensure!(checked.code == 1 && checked.stdout.contains(&words), "{checked:?}");
        let refused = leave(cluster, "--clean")?;
        let words = format!("jobs still use {}", partition(active));
        ensure!(refused.code == 2 && refused.stderr.contains(&words), "{refused:?}");
        let_go(cluster, active)?;
        let cleaned = succeeds(cluster, "--clean")?;
        ensure!(cleaned.contains(&format!("partition {} removed", partition(active))), "{cleaned}");
        cancel(cluster, waiting)
    })
}
