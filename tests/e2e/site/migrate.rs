//! The diff of `svipu migrate` gives a cluster of stock Slurm IPUs.

use std::fs;

use anyhow::{Result, ensure};

use super::{make_stock, path_with_svipu};
use crate::{jobs::ended, quick};

/// Lines that cannot stay as they are, with ends of lines that have to.
const LINES: &str = "SelectType=select/cons_tres\r\nMaxNodeCount=8\r\nPropagateResourceLimits=ALL # all\r\nGresTypes=gpu\t\r\n";

#[test]
fn pkg_diff_of_migrate_gives_a_stock_cluster_ipus() -> Result<()> {
    quick().alias().run(|cluster| {
        cluster.stop_slurmctld()?;
        make_stock(cluster, LINES)?;
        let conf = |name| cluster.layout().conf(name);
        fs::create_dir_all(conf("plugstack.conf.d"))?;
        fs::write(conf("plugstack.conf.d/README"), "# none yet\n")?;
        fs::write(conf("plugstack.conf"), "include plugstack.conf.d/*\n")?;
        let api_host = cluster.api_host(&[0]);
        let migrate = || {
            let command = cluster.command("svipu").args(&["migrate"]).env("PATH", &path_with_svipu()?);
            let host = api_host.trim_start_matches("ApiHost=");
            Ok::<_, anyhow::Error>(command.env("VIPU_CLI_API_HOST", host).success()?.stdout)
        };
        let diff = cluster.layout().jobs().join("migrate.diff");
        fs::write(
            &diff,
            migrate()?.replace("/shared/ipuof", &cluster.layout().ipuof().display().to_string()),
        )?;
        let diff = diff.display().to_string();
        cluster.command("patch").args(&["-d", "/", "-p1", "-i", &diff]).success()?;
        let again = migrate()?;
        ensure!(again.contains("need no change"), "{again}");
        cluster.restart_slurmd(1)?;
        cluster.start_slurmctld()?;
        let shown = cluster.scontrol(&["show", "config"])?;
        ensure!(shown.contains("select/vipu_cons_tres"), "{shown}");
        let job = cluster.sbatch("cat $IPUOF_CONFIG_PATH", &["--ipus=2"])?;
        ended(cluster, job, "COMPLETED")?;
        ensure!(cluster.job_output(job).contains("devices"), "{}", cluster.job_output(job));
        Ok(())
    })
}
