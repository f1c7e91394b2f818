//! Controllers with nodes of their own (`Nodes`): a job gets nodes and IPUs of one controller.

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{Cluster, JobId, Settings, wait_until};
use vipu_client::Call;

use super::models_and_controllers;
use crate::LIMIT;
use crate::jobs::{brisk, ended, ipus, let_go, running_for, runs, waits, without_backfill};

/// Four nodes, two for each of two controllers.
const NODES: &str = "Nodes=\"{0}=ipu-pod64-[001-002] {1}=ipu-pod64-[003-004]\"";

fn two_and_two(settings: Settings) -> Settings {
    settings.nodes(4).cpus(2).controller(&[]).controllers(&[0, 1]).vipu_conf(NODES)
}

/// Checks that the job runs on nodes of the controller of this number, which has its partition.
fn is_on(cluster: &Cluster, job: JobId, number: usize) -> Result<()> {
    models_and_controllers::is_on(cluster, job, number)?;
    let nodes = cluster.job(job)?.nodes;
    let of = [["001", "002", "[001-002]"], ["003", "004", "[003-004]"]];
    let own = of[number].map(|name| format!("ipu-pod64-{name}"));
    ensure!(own.contains(&nodes), "job {job} runs on {nodes}, and has IPUs of controller {number}");
    Ok(())
}

#[test]
fn sched_nodes_that_are_busy_send_the_job_to_the_other_controller() -> Result<()> {
    two_and_two(brisk()).run(|cluster| {
        // No IPUs, but all CPUs of the first controller's nodes.
        let busy = "--nodelist=ipu-pod64-[001-002]";
        let plain = crate::jobs::submit(cluster, &[busy, "--exclusive", "--time=60"])?;
        runs(cluster, plain)?;
        let job = running_for(cluster, 16, 60, &[])?;
        is_on(cluster, job, 1)?;
        // One more has IPUs free on the first, whose nodes are busy, and none on the second.
        let waiting = ipus(cluster, 64, 30, &[])?;
        waits(cluster, waiting, "vipu: 64 IPUs of pod64 needed, 48 free, largest block 32, on 127.0.0.1:")?;
        let first = cluster.end_of(job)?.min(cluster.end_of(plain)?);
        wait_until("a forecast", LIMIT, || Ok(cluster.start_of(waiting)?.is_some_and(|at| at >= first)))?;
        let_go(cluster, plain)?;
        ended(cluster, plain, "COMPLETED")?;
        runs(cluster, waiting)?;
        is_on(cluster, waiting, 0)
    })
}

/// A partition of the second controller is ready, and only nodes of the first one are free.
#[test]
fn sched_nodes_of_a_prepared_partition_are_waited_for() -> Result<()> {
    // Jobs of backfill are not prepared.
    let settings = two_and_two(without_backfill()).slurm_conf("PriorityType=priority/basic");
    settings.vipu_conf("Prepare=all").run(|cluster| {
        let plain = |nodes: &str| -> Result<JobId> {
            let job = crate::jobs::submit(cluster, &[nodes, "--exclusive", "--time=60"])?;
            runs(cluster, job)?;
            Ok(job)
        };
        let on_first = plain("--nodelist=ipu-pod64-[001-002]")?;
        let held = Effect::HeldReply { rpc: Some(Rpc(Call::CreatePartition)) };
        cluster.controller(1).inject(Fault::new(held))?;
        let job = ipus(cluster, 16, 60, &["--nice=1000"])?;
        waits(cluster, job, "vipu: preparing")?;
        let on_second = plain("--nodelist=ipu-pod64-[003-004]")?;
        let_go(cluster, on_first)?;
        cluster.controller(1).clear()?;
        cluster.await_job(job, "to have its partition", LIMIT, |job| !job.reason.contains("preparing"))?;
        let view = cluster.job(job)?;
        ensure!(view.state == "PENDING", "{view:?}");
        let_go(cluster, on_second)?;
        runs(cluster, job)?;
        is_on(cluster, job, 1)
    })
}
