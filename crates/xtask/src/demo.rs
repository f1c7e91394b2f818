//! `cargo xtask demo`: the main job, on a real Slurm with a mock controller.

use std::{env, process::ExitCode, time::Duration};

use anyhow::{Context, Result, ensure};
use testbed::{
    Cluster,
    main_job::{self, BAD_REQUESTS, IpuRun, RESOLVED_REQUESTS},
    programs::Build,
    say,
};

use crate::{build, run};

/// Jobs behind a waiting job start by backfill, by default every 30 s, which is too long for a demo.
const BACKFILL: &str = "SchedulerParameters=bf_interval=2";

pub fn run(keep: bool) -> Result<ExitCode> {
    say("the demo: four nodes before a Pod64 whose partitions take 2 s to make");
    let cluster = Cluster::settings()
        .build(&Build::In(build::demo_plugins()?))
        .slurm_conf(BACKFILL)
        .logs_stay()
        .start()?;
    say(format!("the cluster is up in {}", cluster.layout().root().display()));
    let outcome = show(&cluster).and_then(|measured| {
        cluster.check()?;
        conclude(&cluster, &measured)
    });
    match (keep, &outcome) {
        (false, Ok(())) => cluster.finish()?,
        (false, Err(error)) => cluster.abandon(error),
        (true, outcome) => {
            if let Err(error) = outcome {
                say(format!("failed: {error:#}"));
            }
            leave_up(cluster)?;
        }
    }
    Ok(if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the demo by sudo for a user who is not root, because slurmd starts jobs as other users.
pub fn run_as_root(keep: bool) -> Result<ExitCode> {
    let own = env::current_exe()?;
    let mut demo = run::as_root(&own.display().to_string());
    demo.arg("demo-as-root").args(keep.then_some("--keep"));
    Ok(if demo.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The numbers that the demo ends with.
struct Measured {
    runs: Vec<IpuRun>,
    /// The time from submit to start of a job without IPUs behind jobs that wait for IPUs.
    behind_ipu_jobs: Duration,
    /// The time from submit to start of a job behind one that waits for a GRES, on a stock cluster.
    behind_stock_job: Duration,
}

fn show(cluster: &Cluster) -> Result<Measured> {
    let mut runs = Vec::new();
    say("sbatch --gres=vipu:pod64:16: CF while its partition is made, then it runs");
    runs.push(batch(cluster, 16)?);
    show_output(cluster, runs.last())?;
    say("srun --gres=vipu:pod64:4");
    runs.push(main_job::srun(cluster, 4)?);
    say("salloc --gres=vipu:pod64:1");
    runs.push(main_job::salloc(cluster, 1)?);

    say("for comparison: a job behind one that waits for a full GRES, on a stock cluster");
    let behind_stock_job = stock_delay()?;
    say("sbatch --array=0-7 --gres=vipu:pod64:16: eight tasks, room for four");
    let watch = main_job::watch_array(cluster, 8, || {
        say("meanwhile a job without IPUs is submitted");
        main_job::start_delay(cluster)
    })?;
    say(format!("never more than {} of them had IPUs at once; the others showed:", watch.most_at_once));
    for reason in &watch.reasons {
        say(format!("  {reason}"));
    }
    runs.extend(watch.runs);

    say("requests that cannot be met are refused at submit:");
    for request in BAD_REQUESTS {
        say(format!("  --gres={}: {}", request.gres, main_job::refuse(cluster, request)?));
    }
    for (gres, ipus) in RESOLVED_REQUESTS {
        main_job::resolve(cluster, gres, *ipus)?;
        say(format!("  --gres={gres}: taken for vipu:pod64:{ipus}"));
    }
    Ok(Measured { runs, behind_ipu_jobs: watch.meanwhile, behind_stock_job })
}

fn batch(cluster: &Cluster, ipus: u32) -> Result<IpuRun> {
    let job = cluster.sbatch(main_job::SHOW, &[&format!("--gres=vipu:pod64:{ipus}")])?;
    if !main_job::is_seen_creating(cluster, job)? {
        say("squeue was too late to show it as CF: this machine is busy");
    }
    main_job::batch_ended(cluster, job, ipus)
}

fn show_output(cluster: &Cluster, run: Option<&IpuRun>) -> Result<()> {
    let run = run.context("no job ran")?;
    let shown = main_job::Shown::parse(&cluster.job_output(run.job))?;
    say(format!("job {} saw:", run.job));
    for (name, value) in &shown.environment {
        say(format!("  {name}={value}"));
    }
    let first = shown.file.devices.first().context("the file has no device")?;
    say(format!("  a file with {} devices, the first: {first}", shown.file.devices.len()));
    say("its partition and its file are gone again");
    Ok(())
}

fn stock_delay() -> Result<Duration> {
    let settings = Cluster::settings().nodes(1).without_plugin().extra_gres("token:1").slurm_conf(BACKFILL);
    settings.logs_stay().run(|stock| main_job::delay_behind(stock, "token:1"))
}

/// Prints the table, whose times are not judged, and checks that no partition is left.
fn conclude(cluster: &Cluster, measured: &Measured) -> Result<()> {
    let Measured { runs, behind_ipu_jobs, behind_stock_job } = measured;
    let milliseconds = |time: Duration| format!("{:.1}", 1e3 * time.as_secs_f64());
    println!("\njob  by      IPUs  partition  create s  ready-to-start ms  state");
    for IpuRun { job, by, ipus, partition, create, ready_to_start, state } in runs {
        let (job, create) = (job.to_string(), format!("{:.2}", create.as_secs_f64()));
        let start = milliseconds(*ready_to_start);
        println!("{job:<3}  {by:<6}  {ipus:<4}  {partition:<9}  {create:<8}  {start:<17}  {state}");
    }
    // `srun` and `salloc` ask only now and then whether their job is ready.
    let batch = runs.iter().filter(|run| !["srun", "salloc"].contains(&run.by));
    let mut times: Vec<_> = batch.map(|run| run.ready_to_start).collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2).context("no batch job ran")?;
    println!("median ready-to-start of batch jobs: {} ms", milliseconds(*median));
    println!(
        "start of a job without IPUs after its submit: {} ms behind jobs that wait for IPUs, {} ms behind one that \
         waits for a GRES of a stock cluster",
        behind_ipu_jobs.as_millis(),
        behind_stock_job.as_millis()
    );
    let left = cluster.mock().partitions()?.len();
    println!("partitions left: {left}");
    ensure!(left == 0, "{left} partitions are left");
    Ok(())
}

fn leave_up(cluster: Cluster) -> Result<()> {
    let kept = cluster.keep()?;
    println!("\nthe cluster stays up; to use it:\n    source {}", kept.environment.display());
    // Under sudo the cluster belongs to root, but its user is not root.
    let sudo = if std::env::var_os("SUDO_UID").is_some() { "sudo " } else { "" };
    let (holder, folder) = (kept.holder, kept.folder.display());
    println!("to stop it:\n    {sudo}kill {holder} && sleep 1 && {sudo}rm -r {folder}");
    Ok(())
}
