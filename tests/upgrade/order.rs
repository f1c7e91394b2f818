//! From the earlier build to this one, in each order of hosts.

use anyhow::Result;
use testbed::{
    Place, main_job,
    programs::{Build, PLUGINS},
};

use crate::jobs::restart_slurmctld;
use crate::load::Load;
use crate::{OF_NODES, earlier_site};

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
