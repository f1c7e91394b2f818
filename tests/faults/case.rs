//! One case of the matrix: its cluster, and the state that is required after the fault.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId, JobView, Settings, main_job, wait_until};

use crate::{Case, fault::Fault, stopped_job::StoppedJob};

/// The time, from the moment when all daemons are up, after which nothing may be left.
const PROMISE: Duration = Duration::from_secs(60);

/// The name of the other job.
const NEXT: &str = "next";

/// The words that no log of slurmctld may have. Slurm's own errors are allowed.
const NEVER: [&str; 3] = ["panicked", "internal error", "fatal:"];

/// The result of a case that passed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The time from the end of the fault until all was well.
    pub recovered: Duration,
    /// The fate of the job that the fault struck, in one word.
    pub job: String,
}

/// Lets the fault strike a job of 16 IPUs at the step, and checks the recovery.
pub fn run(case: Case) -> Result<Outcome> {
    settings(case).run(|cluster| {
        let mut stopped = StoppedJob::reach(cluster, case)?;
        stopped.strike()?;
        let all_up = Instant::now();
        stopped.go_on()?;
        recovered(&stopped, all_up)?;
        let recovered = all_up.elapsed();
        let job = fate(&stopped)?;
        if case.fault != Fault::Panic {
            no_panic(cluster)?;
        }
        Ok(Outcome { recovered, job })
    })
}

/// Checks that slurmctld's log has no failure of the plugin.
pub fn no_panic(cluster: &Cluster) -> Result<()> {
    let log = cluster.slurmctld_log();
    let bad: Vec<_> = log.lines().filter(|line| NEVER.iter().any(|part| line.contains(part))).collect();
    ensure!(bad.is_empty(), "slurmctld said: {}", bad.join("\n"));
    Ok(())
}

/// Returns the fate of the job. Fails if the fault must not cause this fate.
fn fate(stopped: &StoppedJob<'_>) -> Result<String> {
    let Some(job) = stopped.job.filter(|job| is_known(stopped.cluster, *job)) else {
        let may_be_lost = [Fault::KillUnsaved, Fault::StateLost, Fault::CleanStart].contains(&stopped.fault)
            || stopped.job.is_none();
        ensure!(may_be_lost, "the job was lost");
        return Ok("unknown".into());
    };
    let view = stopped.cluster.job(job)?;
    ensure!(stopped.fault.disk().is_none() || view.state == "COMPLETED", "it pays for a disk: {view:?}");
    let waits_for_release = view.state == "PENDING" && !view.reason.contains("BeginTime");
    Ok(if waits_for_release { "held".into() } else { view.state.to_lowercase() })
}

fn settings(case: Case) -> Settings {
    let quick = Cluster::settings().nodes(1).create_time(Duration::from_millis(50)).failpoints();
    let quick = case.mode.set(quick).expect_log("error:");
    // slurmctld needs longer to save its state while a reply is held.
    let api_timeout = if case.fault.waits_for_saved_state() { 30 } else { 3 };
    let quick = quick.vipu_conf(&format!("ApiTimeout={api_timeout}"));
    match case.fault {
        Fault::Takeover => quick.backup(),
        Fault::NodeDeath => quick.slurm_conf("SlurmdTimeout=6"),
        Fault::Panic => quick.expect_log("panic"),
        Fault::SlowRemove => quick.slurm_conf("CompleteWait=30").remove_time(Duration::from_secs(8)),
        fault => match fault.disk() {
            Some(disk) => quick.small_disk(disk),
            None => quick,
        },
    }
}

/// Checks that nothing is leaked, the job is accounted for, and another job gets all IPUs.
fn recovered(stopped: &StoppedJob<'_>, all_up: Instant) -> Result<()> {
    let cluster = stopped.cluster;
    let left = || (PROMISE + Duration::from_secs(1)).saturating_sub(all_up.elapsed());
    let next = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64", "--job-name", NEXT])?;
    // A full disk is not the job's fault: the job goes on by itself.
    let pays = stopped.fault.disk().is_none();
    let settled = |job: &JobView| job.is_over() || pays && waits(job);
    if let Some(job) = stopped.job.filter(|job| is_known(cluster, *job)) {
        cluster.await_job(job, "to be accounted for", left(), settled)?;
    }
    let ended = cluster.await_job(next, "to end", left(), |job| {
        if stopped.fault == Fault::KillUnsaved {
            resume_node(cluster);
        }
        job.is_over()
    });
    let ended = ended.context("the next job, of all IPUs")?;
    ensure!(ended.state == "COMPLETED", "the next job, of all IPUs: {ended:?}");
    let shown = main_job::Shown::parse(&cluster.job_output(next))?;
    let partition = shown.partition()?;
    // An earlier job may have had this job id.
    ensure!(main_job::is_of_run(partition, next, ended.restarts), "job {next} has {partition}");
    shown.check(partition, 64)?;
    wait_until("the partitions of jobs that are over to go", left(), || Ok(leaked(cluster)?.is_empty()))
        .with_context(|| format!("left: {:?}", leaked(cluster)))
}

/// Resumes the node as an administrator does. Slurm drains a node on which it starts a job again because it
/// has forgotten the job's run.
fn resume_node(cluster: &Cluster) {
    let reasons = cluster.command("sinfo").args(&["-h", "-o", "%E"]).output();
    if reasons.is_ok_and(|reasons| reasons.stdout.contains("Duplicate jobid")) {
        // If slurmctld refuses, the job keeps waiting, and the test reports this.
        let _ = cluster.scontrol(&["update", "NodeName=ALL", "State=RESUME"]);
    }
}

/// Whether slurmctld knows the job. Another job may have got its id.
fn is_known(cluster: &Cluster, job: JobId) -> bool {
    cluster.jobs().is_ok_and(|jobs| jobs.iter().any(|known| known.id == job && known.name != NEXT))
}

/// Whether the job was sent back and waits for a time or for a user's action.
fn waits(job: &JobView) -> bool {
    let for_a_while = ["BeginTime", "JobHeld", "vipu:", "launch_failed", "job_requeued", "requeue"];
    job.state == "PENDING" && for_a_while.iter().any(|reason| job.reason.contains(reason))
}

/// Returns the partitions and files that belong to no live job.
fn leaked(cluster: &Cluster) -> Result<Vec<String>> {
    let jobs = cluster.jobs()?;
    let live: Vec<_> = jobs.iter().filter(|job| !job.is_over() && job.state != "PENDING").collect();
    let mut found = cluster.mock().partitions()?;
    found.extend(cluster.ipuof_files()?.into_iter().filter(|file| file.ends_with(".conf")));
    let is_of =
        |name: &str, job: &JobView| main_job::is_of_run(name.trim_end_matches(".conf"), job.id, job.restarts);
    found.retain(|name| !live.iter().any(|job| is_of(name, job)));
    Ok(found)
}
