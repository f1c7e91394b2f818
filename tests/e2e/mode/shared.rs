//! One partition that all jobs share (`Mode=shared`).

use anyhow::{Result, ensure};
use mock_vipu::Incident;
use testbed::{Cluster, JobId, Settings, main_job::partition_name, wait_until};
use vipu_types::Delivery;

use crate::LIMIT;
use crate::jobs::{cancel, ends_without_slurmctld, let_go, restart_slurmctld, roomy, running, runs, staying};

const CONF: [&str; 3] = ["Mode=shared", "SharedPartition=all", "ReconcileInterval=1"];

/// What slurmctld says whenever it reads the configuration.
const WARNING: &str = "all jobs use partition all";

fn sharing() -> Settings {
    let settings = roomy().delivery(Delivery::Api).expect_log(WARNING);
    CONF.into_iter().fold(settings, |settings, line| settings.vipu_conf(line))
}

fn administrator_makes(cluster: &Cluster) -> Result<()> {
    cluster.mock().cause(Incident::Foreign { id: "all".into(), size: 64, first: None }).map(drop)
}

/// Ends the mode, and removes the partition as an administrator does.
fn ends(cluster: &Cluster) -> Result<()> {
    cluster.write_vipu_conf(&[])?;
    cluster.reconfigure()?;
    ensure!(cluster.mock().record("all")?.removed.is_none(), "slurm-vipu has removed the partition of all");
    cluster.mock().cause(Incident::Vanish { partition: "all".to_owned() }).map(drop)
}

fn waits_with(cluster: &Cluster, job: JobId, reason: &str) -> Result<()> {
    cluster.await_job(job, reason, LIMIT, |job| job.reason.contains(reason)).map(drop)
}

#[test]
fn mode_shared_gives_all_jobs_one_partition_and_counts_its_ipus() -> Result<()> {
    sharing().expect_log("there is none of this name").run(|cluster| {
        let first = staying(cluster, 32, &[])?;
        waits_with(cluster, first, "partition_all,_which_all_jobs_share:_there_is_none_of_this_name")?;
        administrator_makes(cluster)?;
        runs(cluster, first)?;
        let shape = cluster.sbatch_command("true", &["--ipus=4", "--ipu-gcds=2"])?.output()?;
        ensure!(
            shape.code != 0 && shape.stderr.contains("all jobs of pod64 share partition all"),
            "{shape:?}"
        );
        let other = staying(cluster, 16, &[])?;
        runs(cluster, other)?;
        let waiting = staying(cluster, 32, &[])?;
        waits_with(cluster, waiting, "32_IPUs_of_pod64_needed,_16_free")?;
        let_go(cluster, first)?;
        runs(cluster, waiting)?;
        for (job, ipus) in [(first, "32"), (other, "16")] {
            let shown = cluster.job_output(job);
            let has =
                |name: &str, value: &str| shown.lines().any(|line| line == format!("env {name}={value}"));
            ensure!(has("SLURM_VIPU_PARTITION", "all") && has("SLURM_VIPU_IPUS", ipus), "{shown}");
            ensure!(has("IPUOF_VIPU_API_PARTITION_ID", "all"), "{shown}");
        }
        let_go(cluster, other)?;
        let_go(cluster, waiting)?;
        ensure!(cluster.mock().record(&partition_name(first, 0)).is_err(), "a partition was made for a job");
        ends(cluster)
    })
}

#[test]
fn mode_shared_stays_over_restarts() -> Result<()> {
    sharing().expect_log("there is none of this name").run(|cluster| {
        administrator_makes(cluster)?;
        let (first, second) = (running(cluster, 32, &[])?, running(cluster, 32, &[])?);
        restart_slurmctld(cluster)?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld()?;
        let third = staying(cluster, 32, &[])?;
        waits_with(cluster, third, "32_IPUs_of_pod64_needed,_0_free")?;
        ends_without_slurmctld(cluster, first)?;
        runs(cluster, third)?;
        let_go(cluster, second)?;
        let_go(cluster, third)?;
        ends(cluster)
    })
}

/// A site moves to this mode and back while jobs run.
#[test]
fn mode_shared_begins_and_ends_while_jobs_run() -> Result<()> {
    let settings =
        roomy().delivery(Delivery::Api).expect_log(WARNING).expect_log("there is none of this name");
    settings.vipu_conf("ReconcileInterval=1").run(|cluster| {
        let of_its_own = running(cluster, 16, &[])?;
        cluster.mock().cause(Incident::Foreign { id: "all".into(), size: 32, first: Some(32) })?;
        cluster.write_vipu_conf(&CONF)?;
        cluster.reconfigure()?;
        // The IPUs of the job from before count, too, although they are others.
        let in_shared = running(cluster, 16, &[])?;
        let too_much = staying(cluster, 16, &[])?;
        waits_with(cluster, too_much, "16_IPUs_of_pod64_needed,_0_free")?;
        cancel(cluster, too_much)?;
        let_go(cluster, of_its_own)?;
        cluster.mock().await_removed(&partition_name(of_its_own, 0), LIMIT)?;
        cluster.write_vipu_conf(&["ReconcileInterval=1"])?;
        cluster.reconfigure()?;
        let again = running(cluster, 16, &[])?;
        wait_until("a partition of its own", LIMIT, || {
            Ok(cluster.mock().record(&partition_name(again, 0)).is_ok())
        })?;
        let_go(cluster, in_shared)?;
        let_go(cluster, again)?;
        ends(cluster)
    })
}
