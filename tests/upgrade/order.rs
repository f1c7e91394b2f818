//! From the earlier build to this one in each order of hosts and files, and back.

use anyhow::{Result, ensure};
use testbed::{
    Place, main_job,
    programs::{Build, PLUGINS},
};

use crate::jobs::{ended, restart_slurmctld, runs, waits};
use crate::load::{self, Load};
use crate::{OF_NODES, OF_SLURMCTLD, earlier_site, quick};

#[test]
fn pkg_upgrade_of_an_idle_cluster() -> Result<()> {
    earlier_site()?.run(|cluster| {
        main_job::sbatch(cluster, 4)?;
        cluster.install(None, &Build::Own, &PLUGINS)?;
        // Slurm's commands, slurmd and slurmctld go on while select_vipu.so is another.
        main_job::sbatch(cluster, 8)?;
        restart_slurmctld(cluster)?;
        main_job::sbatch(cluster, 16)?;
        main_job::srun(cluster, 32).map(drop)
    })
}

#[test]
fn pkg_upgrade_of_nodes_first() -> Result<()> {
    earlier_site()?.apart(Place::Nodes, &Build::earlier()?).run(|cluster| {
        let load = Load::put_on(cluster)?;
        cluster.install(Some(Place::Nodes), &Build::Own, &OF_NODES)?;
        load.others_run()?;
        // A slurmd that starts loads the new files, too.
        cluster.kill_slurmd(2)?;
        cluster.start_node(2)?;
        cluster.await_node(2, |state| !state.contains("DOWN") && !state.contains('*'))?;
        load.stands()?;
        cluster.install(None, &Build::Own, &PLUGINS)?;
        restart_slurmctld(cluster)?;
        load.stands()?;
        load.ends_well()
    })
}

#[test]
fn pkg_upgrade_of_the_controller_first() -> Result<()> {
    earlier_site()?.apart(Place::Nodes, &Build::earlier()?).run(|cluster| {
        let load = Load::put_on(cluster)?;
        cluster.install(None, &Build::Own, &PLUGINS)?;
        restart_slurmctld(cluster)?;
        load.stands()?;
        load.others_run()?;
        cluster.install(Some(Place::Nodes), &Build::Own, &OF_NODES)?;
        load.others_run()?;
        load.stands()?;
        load.ends_well()
    })
}

/// With load on the cluster, all files are replaced while slurmctld runs, as packages do on a host with all daemons.
#[test]
fn pkg_upgrade_under_load_and_with_a_reconfigure() -> Result<()> {
    earlier_site()?.run(|cluster| {
        let load = Load::put_on(cluster)?;
        cluster.install(None, &Build::Own, &PLUGINS)?;
        // From 23.11 on slurmctld replaces itself at a reconfigure, and loads the new files.
        cluster.reconfigure()?;
        load.stands()?;
        load.others_run()?;
        restart_slurmctld(cluster)?;
        load.stands()?;
        load.ends_well()
    })
}

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
