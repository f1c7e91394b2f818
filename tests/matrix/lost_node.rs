//! A node that is cut off from the network and comes back.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use testbed::{
    Settings,
    main_job::{SHOW, Shown, partition_name},
};

use crate::{LIMIT, partition, quick};

const CUT_OFF: &str = "ipu-pod64-002";

#[test]
fn matrix_node_cut_off_and_returned() -> Result<()> {
    let lost = format!("Nodes {CUT_OFF} not responding, setting DOWN");
    // 24.11 and 26.05 log these for a node that returns with a run that was given up.
    let returned = [
        "Registered PENDING JobId=",
        "by SLUID but could by job_id",
        "_slurm_rpc_epilog_complete: could not find JobId=",
        "Orphan JobId=",
    ];
    let settings = returned.into_iter().fold(quick().expect_log(&lost), Settings::expect_log);
    settings.run_in_containers(|cluster| {
        let node = cluster.host(CUT_OFF)?;
        // The first run stays, and the second run ends.
        let script = format!("{SHOW}\n[ \"$SLURM_RESTART_COUNT\" ] || sleep 1000");
        let job = cluster.sbatch(&script, &["--requeue", "-w", CUT_OFF, "--gres=vipu:pod64:64"])?;
        cluster.await_state(job, "RUNNING", LIMIT)?;

        node.pull_network()?;
        // Slurm checks nodes every few seconds, and waits for SlurmdTimeout, which is 20 s.
        let requeued = cluster.await_job(job, "to be requeued", LIMIT, |job| job.restarts == 1)?;
        ensure!(requeued.state == "PENDING" || requeued.state == "COMPLETING", "{requeued:?}");
        // The plugin must not wait for a node that cannot answer.
        let given_up = Instant::now();
        cluster.mock().await_removed(&partition(job), LIMIT)?;
        let removed = given_up.elapsed();
        ensure!(
            removed < Duration::from_secs(20),
            "its partition went {removed:?} after the job was given up"
        );
        let other = cluster.sbatch(SHOW, &["--gres=vipu:pod64:64"])?;
        let ended = cluster.await_end(other, LIMIT)?;
        ensure!(ended.state == "COMPLETED" && ended.nodes != CUT_OFF, "{ended:?}");
        Shown::parse(&cluster.job_output(other))?.check(&partition(other), 64)?;
        let state = cluster.command("sinfo").args(&["-h", "-N", "-n", CUT_OFF, "-o", "%T"]).success()?.stdout;
        // Slurm counts the CPUs in use at most once a second, so sinfo may still show `mixed*` in place of
        // `down*`.
        ensure!(state.trim_end().ends_with('*'), "{CUT_OFF} is {state}");
        ensure!(cluster.slurmctld_log()?.contains(&lost), "{CUT_OFF} was not given up");

        node.plug_network()?;
        // An administrator resumes the node, which otherwise comes back by itself at some time within two minutes.
        if let Err(why) = cluster.scontrol(&["update", &format!("NodeName={CUT_OFF}"), "State=RESUME"]) {
            ensure!(format!("{why:#}").contains("Invalid node state specified"), "{why:?}");
        }
        cluster.await_nodes()?;
        // Slurm lets a requeued job wait for two minutes, unless it has a start time. The start has to be
        // after the node heard that the earlier run is over: the node refuses launches from before then.
        cluster.await_state(job, "PENDING", LIMIT)?;
        cluster.scontrol(&["update", &format!("JobId={job}"), "StartTime=now+5"])?;
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "COMPLETED" && ended.nodes == CUT_OFF, "{ended:?}");
        let again = partition_name(job, ended.restarts);
        Shown::parse(&cluster.job_output(job))?.check(&again, 64)
    })
}
