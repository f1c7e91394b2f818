//! From this build back to the earlier one.

use anyhow::Result;
use testbed::programs::{Build, PLUGINS};

use crate::jobs::{ended, restart_slurmctld, runs, waits};
use crate::load::{self, Load};
use crate::{OF_NODES, OF_SLURMCTLD, quick};

#[test]
fn pkg_upgrade_and_back_under_load() -> Result<()> {
    load::site().run(|cluster| {
        let load = Load::put_on(cluster)?;
        let earlier = Build::earlier()?;
        // slurmctld first, as the last step of the upgrade is the first to be taken back.
        cluster.install(None, &earlier, &OF_SLURMCTLD)?;
        restart_slurmctld(cluster)?;
        load.stands()?;
        load.others_run()?;
        cluster.install(None, &earlier, &OF_NODES)?;
        load.others_run()?;
        load.stands()?;
        load.ends_well()
    })
}

#[test]
fn pkg_upgrade_and_back_with_a_new_key_in_vipu_conf() -> Result<()> {
    let refused = "unknown key 'AccountingSteps'";
    quick().vipu_conf("AccountingSteps=yes").expect_log(refused).run(|cluster| {
        let job = cluster.sbatch("sleep infinity", &["--gres=vipu:pod64:4"])?;
        runs(cluster, job)?;
        cluster.install(None, &Build::earlier()?, &PLUGINS)?;
        restart_slurmctld(cluster)?;
        let waiting = cluster.sbatch("true", &["--gres=vipu:pod64:4"])?;
        waits(cluster, waiting, "unknown key")?;
        runs(cluster, job)?;
        cluster.write_vipu_conf(&[])?;
        cluster.reconfigure()?;
        ended(cluster, waiting, "COMPLETED").map(drop)
    })
}
