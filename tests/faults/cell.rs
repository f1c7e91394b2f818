//! One step, one fault: what must hold when it is over.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId, JobView, Settings, main_job, wait_until};

use crate::{
    Cell,
    fault::Fault,
    scene::{self, Scene},
};

/// How long after all daemons are up nothing may be left.
const PROMISE: Duration = Duration::from_secs(60);

/// What the other job is called.
const NEXT: &str = "next";

/// What no log of slurmctld may have. Of Slurm's own errors there may be many.
const NEVER: [&str; 3] = ["panicked", "internal error", "fatal:"];

/// How a cell ended that passed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How long after the fault was over all was well again.
    pub recovered: Duration,
    /// What became of the job that it struck, in one word.
    pub job: String,
}

/// Has the fault strike a job of 16 IPUs at the step.
pub fn run(cell: Cell) -> Result<Outcome> {
    settings(cell).run(|cluster| {
        let mut scene = Scene::reach(cluster, cell)?;
        scene.strike()?;
        let all_up = Instant::now();
        scene.go_on()?;
        recovered(&scene, all_up)?;
        let recovered = all_up.elapsed();
        let job = fate(&scene)?;
        if cell.fault != Fault::Panic {
            let log = cluster.slurmctld_log();
            let bad: Vec<_> =
                log.lines().filter(|line| NEVER.iter().any(|part| line.contains(part))).collect();
            ensure!(bad.is_empty(), "slurmctld said: {}", bad.join("\n"));
        }
        Ok(Outcome { recovered, job })
    })
}

/// What became of the job, which must be what such a fault may do to a job.
fn fate(scene: &Scene<'_>) -> Result<String> {
    let Some(job) = scene.job.filter(|job| is_known(scene.cluster, *job)) else {
        let may_be_lost = [Fault::KillUnsaved, Fault::StateLost, Fault::CleanStart].contains(&scene.fault)
            || scene.job.is_none();
        ensure!(may_be_lost, "the job was lost");
        return Ok("unknown".into());
    };
    let view = scene.cluster.job(job)?;
    ensure!(scene::disk(scene.fault).is_none() || view.state == "COMPLETED", "it pays for a disk: {view:?}");
    let waits_for_release = view.state == "PENDING" && !view.reason.contains("BeginTime");
    Ok(if waits_for_release { "held".into() } else { view.state.to_lowercase() })
}

fn settings(cell: Cell) -> Settings {
    let quick = Cluster::settings().nodes(1).create_time(Duration::from_millis(50)).failpoints();
    let quick = cell.way.set(quick).expect_log("error:");
    // What has to be saved while a reply is held takes longer.
    let api_timeout = if scene::is_saved_first(cell.fault) { 30 } else { 3 };
    let quick = quick.vipu_conf(&format!("ApiTimeout={api_timeout}"));
    match cell.fault {
        Fault::Takeover => quick.backup(),
        Fault::NodeDeath => quick.slurm_conf("SlurmdTimeout=6"),
        Fault::Panic => quick.expect_log("panic"),
        Fault::SlowRemove => quick.slurm_conf("CompleteWait=30").remove_time(Duration::from_secs(8)),
        Fault::IpuofDirFull | Fault::StateFull => match scene::disk(cell.fault) {
            Some(disk) => quick.small_disk(disk),
            None => quick,
        },
        _ => quick,
    }
}

/// Nothing is leaked, the job is accounted for, and another gets all IPUs.
fn recovered(scene: &Scene<'_>, all_up: Instant) -> Result<()> {
    let cluster = scene.cluster;
    let left = || (PROMISE + Duration::from_secs(1)).saturating_sub(all_up.elapsed());
    let next = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64", "--job-name", NEXT])?;
    // A disk is no job's fault: it goes on by itself.
    let pays = scene::disk(scene.fault).is_none();
    let settled = |job: &JobView| job.is_over() || pays && waits(job);
    if let Some(job) = scene.job.filter(|job| is_known(cluster, *job)) {
        cluster.await_job(job, "to be accounted for", left(), settled)?;
    }
    let ended = cluster.await_job(next, "to end", left(), |job| {
        if scene.fault == Fault::KillUnsaved {
            resume_node(cluster);
        }
        job.is_over()
    });
    let ended = ended.context("the next job, of all IPUs")?;
    ensure!(ended.state == "COMPLETED", "the next job, of all IPUs: {ended:?}");
    let shown = main_job::Shown::parse(&cluster.job_output(next))?;
    let partition = shown.partition()?;
    // An earlier job may have had this number.
    ensure!(main_job::is_of_run(partition, next, ended.restarts), "job {next} has {partition}");
    shown.check(partition, 64)?;
    wait_until("the partitions of jobs that are over to go", left(), || Ok(leaked(cluster)?.is_empty()))
        .with_context(|| format!("left: {:?}", leaked(cluster)))
}

/// As an administrator does: Slurm drains the node if it starts a job anew of which it had forgotten that it runs.
fn resume_node(cluster: &Cluster) {
    let reasons = cluster.command("sinfo").args(&["-h", "-o", "%E"]).output();
    if reasons.is_ok_and(|reasons| reasons.stdout.contains("Duplicate jobid")) {
        // If it is refused the job waits on, which is told then.
        let _ = cluster.scontrol(&["update", "NodeName=ALL", "State=RESUME"]);
    }
}

/// Whether slurmctld knows the job; another may have got its number.
fn is_known(cluster: &Cluster, job: JobId) -> bool {
    cluster.jobs().is_ok_and(|jobs| jobs.iter().any(|known| known.id == job && known.name != NEXT))
}

/// Whether the job was sent back and waits for a time or for somebody.
fn waits(job: &JobView) -> bool {
    let for_a_while = ["BeginTime", "JobHeld", "vipu:", "launch_failed", "job_requeued", "requeue"];
    job.state == "PENDING" && for_a_while.iter().any(|reason| job.reason.contains(reason))
}

/// Partitions and files that no job has that is still there.
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

/// For the table: the failure in one line.
pub fn in_short(error: &anyhow::Error) -> String {
    let causes: Vec<_> = error.chain().map(ToString::to_string).collect();
    causes.join(": ").lines().next().unwrap_or_default().chars().take(160).collect()
}
