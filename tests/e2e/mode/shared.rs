//! One partition that all jobs share (`Mode=shared`).

use anyhow::{Result, ensure};
use mock_vipu::Incident;
use testbed::{Cluster, Settings, main_job::partition_name};
use vipu_types::Delivery;

use crate::jobs::{ends_without_slurmctld, let_go, restart_slurmctld, roomy, runs, staying, waits};

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

#[test]
fn mode_shared_gives_all_jobs_one_partition_and_counts_its_ipus_over_restarts() -> Result<()> {
    sharing().expect_log("there is none of this name").run(|cluster| {
        let first = staying(cluster, 32, &[])?;
        waits(cluster, first, "partition all, which all jobs share: there is none of this name")?;
        administrator_makes(cluster)?;
        runs(cluster, first)?;
        let other = staying(cluster, 16, &[])?;
        runs(cluster, other)?;
        // A stop in order saves the jobs.
        restart_slurmctld(cluster)?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld()?;
        let waiting = staying(cluster, 32, &[])?;
        waits(cluster, waiting, "32 IPUs of pod64 needed, 16 free")?;
        ends_without_slurmctld(cluster, first)?;
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
