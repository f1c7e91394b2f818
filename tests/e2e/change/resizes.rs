//! Jobs that give up nodes or ask for more.

use anyhow::{Result, ensure};
use testbed::main_job;

use crate::jobs::{brisk, cancel, gone, let_go, running, there_are, update};
use crate::{LIMIT, quick};

#[test]
fn job_that_gives_up_nodes_keeps_its_partition() -> Result<()> {
    brisk().nodes(3).run(|cluster| {
        let job = running(cluster, 16, &["-N3", "-n3"])?;
        update(cluster, job, &["NumNodes=1"])?;
        let shown = cluster.squeue(job, "%D %t")?;
        ensure!(shown == "1 R", "{shown}");
        there_are(cluster, &[(job, 0)])?;
        // Other jobs can use the nodes that it gave up, but not its IPUs.
        let other = cluster
            .sbatch(main_job::SHOW, &["-N2", "--exclusive", "--gres=vipu:pod64:32", "--ipu-gcds=1"])?;
        main_job::batch_ended(cluster, other, 32)?;
        let whole = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64"])?;
        crate::jobs::waits(cluster, whole, "64 IPUs of pod64 needed, 48 free")?;
        let_go(cluster, job)?;
        main_job::batch_ended(cluster, job, 16)?;
        main_job::batch_ended(cluster, whole, 64).map(drop)
    })
}

#[test]
fn job_that_cannot_get_the_nodes_of_another_keeps_its_partition() -> Result<()> {
    // Slurm expands no job with GRES, but ends the giver on its nodes before it refuses. When the giver is
    // cancelled, Slurm ends it there again.
    let settings = quick().nodes(2).slurm_conf("SchedulerParameters=permit_job_expansion");
    settings.expect_log("has allocated GRES").expect_log("_cnt underflow").run(|cluster| {
        let job = running(cluster, 16, &["-N1", "--exclusive"])?;
        // Slurm takes nodes only from a job without steps.
        let expand = format!("--dependency=expand:{job}");
        let args =
            [&expand as &str, "-N1", "--exclusive", "--gres=vipu:pod64:8", "--no-shell", "--job-name=giver"];
        cluster.command("salloc").args(&args).success()?;
        let giver = cluster.await_job_named("giver", LIMIT)?;
        there_are(cluster, &[(job, 0), (giver, 0)])?;
        let refused = cluster.command("scontrol").args(&["update", &format!("JobId={giver}"), "NumNodes=0"]);
        ensure!(refused.output()?.code != 0, "nodes were given");
        cancel(cluster, giver)?;
        gone(cluster, giver, 0)?;
        there_are(cluster, &[(job, 0)])?;
        let_go(cluster, job)?;
        main_job::batch_ended(cluster, job, 16).map(drop)
    })
}
