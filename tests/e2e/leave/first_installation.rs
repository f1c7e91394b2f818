//! The first installation, while jobs of the stock selector run and wait.

use std::fs;

use anyhow::{Result, ensure};
use testbed::main_job;

use super::{remove_ipus, start_stock, succeeds, use_stock_selector};
use crate::jobs::{brisk, ended, let_go, runs, submit};

#[test]
fn pkg_first_installation_keeps_jobs() -> Result<()> {
    brisk().run(|cluster| {
        let ours = ["v-ipu-plugin.conf", "plugstack.conf"].map(|name| cluster.layout().conf(name));
        let texts = ours.iter().map(fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
        cluster.stop_slurmctld()?;
        use_stock_selector(cluster)?;
        remove_ipus(cluster)?;
        start_stock(cluster)?;
        succeeds(cluster, "--clean")?;

        let active = submit(cluster, &["--exclusive"])?;
        runs(cluster, active)?;
        let waiting = submit(cluster, &["--exclusive"])?;
        cluster.stop_slurmctld()?;
        for (path, text) in ours.iter().zip(texts) {
            fs::write(path, text)?;
        }
        cluster.restart_slurmd(1)?;
        cluster.start_slurmctld()?;
        let jobs = [active, waiting].map(|job| cluster.job(job).map(|job| job.state));
        ensure!(matches!(&jobs, [Ok(one), Ok(other)] if one == "RUNNING" && other == "PENDING"), "{jobs:?}");
        let_go(cluster, active)?;
        ended(cluster, active, "COMPLETED")?;
        runs(cluster, waiting)?;
        let_go(cluster, waiting)?;
        ended(cluster, waiting, "COMPLETED")?;
        main_job::sbatch(cluster, 16).map(drop)
    })
}
