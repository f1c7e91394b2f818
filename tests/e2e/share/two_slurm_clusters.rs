//! Two Slurm clusters that share one controller.

use anyhow::{Result, ensure};
use testbed::{Cluster, JobView, Settings, main_job};

use crate::LIMIT;
use crate::jobs::{brisk, ended, let_go, restart_slurmctld, running, there_are, waits};

/// A second cluster with the controller of the first.
fn second(first: &Cluster) -> Settings {
    brisk().vipu_conf(&first.api_host(&[0]))
}

#[test]
fn job_of_two_clusters_with_one_prefix() -> Result<()> {
    brisk().run(|first| {
        second(first).vipu_conf("CreateTimeout=5").expect_log("PartitionPrefix").run(|second| {
            let ours = running(first, 16, &[])?;
            let theirs = second.sbatch(main_job::SHOW, &["--gres=vipu:pod64:8"])?;
            ensure!(ours == theirs, "the names are not the same");
            let is_held = |job: &JobView| job.state == "PENDING" && !job.system_comment.is_empty();
            let held = second.await_job(theirs, "to be held", LIMIT, is_held)?;
            println!("{held:?}");
            ensure!(held.system_comment.contains("PartitionPrefix"), "{held:?}");
            there_are(first, &[(ours, 0)])?;
            ensure!(second.ipuof_files()?.is_empty(), "{:?}", second.ipuof_files()?);
            // The administrator solves it with another prefix.
            second.write_vipu_conf(&[&first.api_host(&[0]), "PartitionPrefix=other"])?;
            second.reconfigure()?;
            second.scontrol(&["release", &theirs.to_string()])?;
            ended(second, theirs, "COMPLETED")?;
            let shown = main_job::Shown::parse(&second.job_output(theirs))?;
            ensure!(shown.environment["SLURM_VIPU_PARTITION"] == format!("other_{theirs}r1"), "{shown:?}");
            let_go(first, ours)?;
            main_job::batch_ended(first, ours, 16).map(drop)
        })
    })
}

#[test]
fn job_of_two_clusters_with_two_prefixes() -> Result<()> {
    brisk().run(|first| {
        second(first).vipu_conf("PartitionPrefix=second").run(|second| {
            let ours = running(first, 32, &[])?;
            let theirs = running(second, 32, &[])?;
            ensure!(ours == theirs, "the names are not different by the prefix alone");
            let mut there = first.mock().partitions()?;
            there.sort_unstable();
            ensure!(there == [format!("second_{theirs}"), format!("slurm_{ours}")], "{there:?}");
            // Each cluster sees that the other has the rest.
            for cluster in [first, second] {
                cluster.reconfigure()?;
                let waiting = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:1"])?;
                waits(cluster, waiting, "1 IPU of pod64 needed, 0 free")?;
            }
            // Neither cluster removes partitions of the other, not even when it looks for its own orphans.
            restart_slurmctld(second)?;
            let_go(second, theirs)?;
            first.mock().await_removed(&format!("second_{theirs}"), LIMIT)?;
            let still = first.mock().record(&format!("slurm_{ours}"))?;
            ensure!(still.remove_request.is_none(), "{still:?}");
            let_go(first, ours)?;
            main_job::batch_ended(first, ours, 32).map(drop)
        })
    })
}
