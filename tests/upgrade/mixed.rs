//! Files of both builds on one host, and a backup slurmctld of another build.

use anyhow::{Result, ensure};
use testbed::{
    Place,
    programs::{Build, PLUGINS},
};

use crate::earlier_site;
use crate::jobs::{ended, restart_slurmctld};
use crate::load::{self, Load};

/// slurmctld starts after half of its files were replaced.
#[test]
fn pkg_upgrade_that_stopped_half_way() -> Result<()> {
    let why = "vipu_slurmctld.so: it is of another build than this plugin";
    earlier_site()?.expect_log(why).run(|cluster| {
        let load = Load::put_on(cluster)?;
        let lines = || cluster.slurmctld_log().matches(why).count();
        cluster.install(None, &Build::Own, &["select_vipu.so", "spank_ipuof.so"])?;
        restart_slurmctld(cluster)?;
        ensure!(lines() == 1, "the reason is told {} times", lines());
        load.stands()?;
        let other = cluster.sbatch("true", &[])?;
        ended(cluster, other, "COMPLETED")?;
        cluster.install(None, &Build::Own, &PLUGINS)?;
        restart_slurmctld(cluster)?;
        load.stands()?;
        load.ends_well()
    })
}

#[test]
fn pkg_upgrade_of_one_of_two_controllers() -> Result<()> {
    backup_takes_over(&Build::Own, &Build::earlier()?)
}

#[test]
fn pkg_upgrade_of_the_backup_controller_first() -> Result<()> {
    backup_takes_over(&Build::earlier()?, &Build::Own)
}

/// The backup of another build takes over under load, and gives control back.
fn backup_takes_over(primary: &Build, backup: &Build) -> Result<()> {
    let settings = load::site().backup().build(primary).apart(Place::Backup, backup);
    settings.run(|cluster| {
        let load = Load::put_on(cluster)?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.await_takeover()?;
        load.stands()?;
        load.others_run()?;
        cluster.await_saved()?;
        cluster.return_control()?;
        load.stands()?;
        load.others_run()?;
        load.ends_well()
    })
}
