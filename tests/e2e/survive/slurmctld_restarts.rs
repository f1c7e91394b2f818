//! slurmctld reads its configuration again or is restarted.

use std::fs;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{main_job, wait_until};
use vipu_client::Call;

use crate::jobs::{ended, partition, restart_slurmctld};
use crate::{LIMIT, let_go, quick, slow, stay};

#[test]
fn job_restart_slurmctld_and_reconfigure_while_creating() -> Result<()> {
    slow(8).run(|cluster| {
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        main_job::await_creating(cluster, job)?;
        cluster.reconfigure()?;
        cluster.await_slurmctld()?;
        restart_slurmctld(cluster)?;
        main_job::batch_ended(cluster, job, 16).map(drop)
    })
}

#[test]
fn job_restart_slurmctld_with_other_limits_and_names() -> Result<()> {
    quick().run(|cluster| {
        let job = stay(cluster, 32)?;
        // The job keeps its IPUs and the name of its partition, although a new job would get others.
        cluster.write_vipu_conf(&["MaxIpusPerJob=16", "PartitionPrefix=other"])?;
        restart_slurmctld(cluster)?;
        let waiting = cluster.sbatch("true", &["--gres=vipu:pod64:16"])?;
        ended(cluster, waiting, "COMPLETED")?;
        ensure!(cluster.mock().partitions()? == [format!("slurm_{job}")]);
        let_go(cluster)?;
        main_job::batch_ended(cluster, job, 32).map(drop)
    })
}

/// slurmctld 26.05 would launch the second run on the node of the first one.
#[test]
fn job_restart_slurmctld_while_the_partition_of_a_requeued_job_is_removed() -> Result<()> {
    // Slurm ends the job at its start once more, on none of its nodes.
    let settings = quick().nodes(2).expect_log("allocated no nodes to be killed on");
    settings.run(|cluster| {
        let job = stay(cluster, 16)?;
        let first = cluster.job(job)?.nodes;
        cluster.mock().inject(Fault::new(Effect::HeldReply { rpc: Some(Rpc(Call::RemovePartition)) }))?;
        cluster.scontrol(&["requeue", &job.to_string()])?;
        cluster.await_node(1, |state| state == "IDLE")?;
        restart_slurmctld(cluster)?;
        cluster.update_node(1, &["State=DRAIN", "Reason=test"])?;
        cluster.mock().clear()?;
        cluster.await_job(job, "to run again", LIMIT, |job| job.state == "RUNNING" && job.restarts == 1)?;
        let_go(cluster)?;
        let ended = ended(cluster, job, "COMPLETED")?;
        ensure!(ended.nodes != first && ended.restarts == 1, "first on {first}, then {ended:?}");
        Ok(())
    })
}

#[test]
fn fault_lost_files_of_a_running_job_are_written_anew() -> Result<()> {
    const DURABLE: &str = "\"created\"";
    quick().run(|cluster| {
        let job = stay(cluster, 16)?;
        let journal = cluster.layout().state().join("vipu_journal");
        wait_until("its files to be durable", LIMIT, || Ok(fs::read_to_string(&journal)?.contains(DURABLE)))?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        // As if the host of slurmctld had lost power before the file and the entry were on disk.
        let file = cluster.layout().ipuof().join(format!("{}.conf", partition(job)));
        let described = fs::read(&file)?;
        fs::write(&file, "")?;
        let text = fs::read_to_string(&journal)?;
        let before = text.lines().filter(|line| !line.contains(DURABLE));
        fs::write(&journal, before.map(|line| format!("{line}\n")).collect::<String>())?;
        cluster.start_slurmctld()?;
        wait_until("its file to be written anew", LIMIT, || Ok(fs::read(&file)? == described))?;
        let_go(cluster)?;
        main_job::batch_ended(cluster, job, 16).map(drop)
    })
}
