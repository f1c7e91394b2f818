//! Jobs and partitions in every state, which a change of the plugins must leave alone.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use mock_vipu::{Effect, Fault, Incident, PartitionRecord};
use testbed::{
    Cluster, JobId, Running, Settings,
    main_job::{self, Shown},
    programs, wait_until,
};

use crate::LIMIT;
use crate::jobs::{cancel, ended, leaving_unanswered, runs, staying, waits};

/// The time of a usual create.
const CREATE: Duration = Duration::from_millis(50);

/// A slow create takes 15 s, so that it goes on after a restart of slurmctld.
const SLOW: Effect = Effect::SlowCreate { factor: 300.0 };

/// Lines between what a job shows at its begin, at its end, and in a step at its end.
const NEXT: &str = "and now";

/// slurmctld logs this when it starts with a job that is ending, whose node is done with it.
const NO_NODES_LEFT: &str = "allocated no nodes to be killed on";

/// Two nodes with room for all jobs.
pub(crate) fn site() -> Settings {
    let settings = Cluster::settings().nodes(2).cpus(64).create_time(CREATE).vipu_conf("MaxKeep=600");
    let settings = settings.expect_log(NO_NODES_LEFT);
    leaving_unanswered(settings.slurm_conf("SchedulerParameters=bf_interval=1"))
}

/// A job of `srun`.
struct Attended {
    job: JobId,
    ipus: u32,
    srun: Running,
}

pub(crate) struct Load<'a> {
    cluster: &'a Cluster,
    batch: JobId,
    step: Attended,
    kept: JobId,
    /// Its removal does not end by itself.
    ending: JobId,
    configuring: JobId,
    /// It waits while its partition is made.
    prepared: Attended,
    waiting: JobId,
    array: JobId,
}

impl<'a> Load<'a> {
    /// Brings each job into its state.
    pub(crate) fn put_on(cluster: &'a Cluster) -> Result<Self> {
        let batch = cluster.sbatch(&before_and_after(true), &["--gres=vipu:pod64:8"])?;
        runs(cluster, batch)?;
        let step = attended(cluster, 4)?;
        runs(cluster, step.job)?;
        let kept = cluster.sbatch("exit 3", &["--gres=vipu:pod64:2", "--ipu-keep=600s"])?;
        ended(cluster, kept, "FAILED")?;
        let ending = staying(cluster, 4, &[])?;
        runs(cluster, ending)?;
        cluster.mock().inject(Fault::new(Effect::RemoveStuck).on(&main_job::partition_name(ending, 0)))?;
        cancel(cluster, ending)?;
        cluster.await_state(ending, "COMPLETING", LIMIT)?;
        cluster.mock().inject(Fault::new(SLOW).times(2))?;
        let configuring = cluster.sbatch(&before_and_after(true), &["--gres=vipu:pod64:8"])?;
        cluster.await_state(configuring, "CONFIGURING", LIMIT)?;
        let prepared = attended(cluster, 16)?;
        waits(cluster, prepared.job, "vipu: preparing")?;
        let waiting = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:32"])?;
        let array = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:32", "--array=0-1"])?;
        waits(cluster, waiting, "32 IPUs")?;
        let load = Self { cluster, batch, step, kept, ending, configuring, prepared, waiting, array };
        load.stands()?;
        Ok(load)
    }

    /// Checks that what had IPUs has them: no job that began has ended, and no partition has gone.
    pub(crate) fn stands(&self) -> Result<()> {
        for job in [self.batch, self.step.job] {
            let job = self.cluster.job(job)?;
            ensure!(job.state == "RUNNING" && job.restarts == 0, "{job:?}");
        }
        let there = self.cluster.mock().partitions()?;
        for job in [self.batch, self.step.job, self.kept, self.configuring] {
            ensure!(there.contains(&main_job::partition_name(job, 0)), "{job} has none of {there:?}");
        }
        Ok(())
    }

    /// Runs a batch job and an srun. The waiting jobs are held meanwhile, because IPUs are kept for them.
    pub(crate) fn others_run(&self) -> Result<()> {
        let cluster = self.cluster;
        let waiting = [self.waiting, self.array].map(|job| job.to_string());
        let [one, other] = waiting.each_ref().map(String::as_str);
        cluster.scontrol(&["hold", one, other])?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:2"])?;
        ended(cluster, job, "COMPLETED")?;
        showed(cluster, job, 2, &cluster.job_output(job))?;
        let args = ["--gres=vipu:pod64:1", "bash", "-c", main_job::SHOW];
        let output = cluster.command("srun").args(&args).start()?.success(LIMIT)?.stdout;
        ensure!(Shown::parse(&output)?.file.devices.len() == 1, "{output}");
        cluster.scontrol(&["release", one, other]).map(drop)
    }

    /// Lets all jobs end. Checks that each had one partition from its begin to its end, and that the kept
    /// partition is kept until it is freed.
    pub(crate) fn ends_well(self) -> Result<()> {
        let Self { cluster, batch, step, kept, ending, configuring, prepared, waiting, array } = self;
        runs(cluster, configuring)?;
        runs(cluster, prepared.job)?;
        ends_hung_removal(cluster, ending)?;
        crate::let_go(cluster)?;
        for attended in [step, prepared] {
            let output = attended.srun.success(LIMIT)?.stdout;
            showed(cluster, attended.job, attended.ipus, &output)?;
        }
        for (job, ipus) in [(batch, 8), (configuring, 8), (waiting, 32)] {
            ended(cluster, job, "COMPLETED")?;
            showed(cluster, job, ipus, &cluster.job_output(job))?;
        }
        wait_until("the end of the array", LIMIT, || {
            let jobs = cluster.jobs()?;
            Ok(jobs.iter().filter(|job| job.array == Some(array) && job.state == "COMPLETED").count() == 2)
        })?;
        free(cluster, kept)
    }
}

/// Ends the removal that hangs, if it still does, and waits for the end of its job.
fn ends_hung_removal(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.mock().clear()?;
    let partition = main_job::partition_name(job, 0);
    if cluster.mock().partitions()?.contains(&partition) {
        cluster.mock().cause(Incident::Vanish { partition })?;
    }
    ended(cluster, job, "CANCELLED").map(drop)
}

/// A script that shows its IPUs, stays, and shows them again; at last also in a step of its own.
fn before_and_after(with_step: bool) -> String {
    let show = main_job::SHOW;
    let step = if with_step { format!("echo {NEXT}\nsrun bash -c show") } else { String::new() };
    format!(
        "show() {{\n{show}\n}}\nexport -f show\nshow\n\
         while [ ! -e go ]; do sleep 0.2; done\necho {NEXT}\nshow\n{step}"
    )
}

fn attended(cluster: &Cluster, ipus: u32) -> Result<Attended> {
    let (name, script) = (format!("srun-{ipus}"), before_and_after(false));
    let args = [&format!("--gres=vipu:pod64:{ipus}"), &format!("--job-name={name}"), "bash", "-c", &script];
    let srun = cluster.command("srun").args(&args).start()?;
    let job = cluster.await_job_named(&name, LIMIT)?;
    Ok(Attended { job, ipus, srun })
}

/// Checks what a job showed: its own partition, the same each time, which was made once.
fn showed(cluster: &Cluster, job: JobId, ipus: u32, output: &str) -> Result<()> {
    let name = main_job::partition_name(job, 0);
    let mut first = None;
    for part in output.split(NEXT) {
        let shown = Shown::parse(part).with_context(|| format!("job {job}"))?;
        shown.check(&name, ipus).with_context(|| format!("job {job}"))?;
        let seen = (shown.environment, shown.file.devices);
        ensure!(*first.get_or_insert(seen.clone()) == seen, "job {job} saw a change: {output}");
    }
    let report = cluster.mock().report()?;
    let made: Vec<&PartitionRecord> = report.partitions.iter().filter(|record| record.id == name).collect();
    ensure!(made.len() == 1, "{name} was made {} times", made.len());
    Ok(())
}

/// Frees the partition of a job that kept it.
fn free(cluster: &Cluster, job: JobId) -> Result<()> {
    let (program, partition) = (programs::find("svipu")?, main_job::partition_name(job, 0));
    let args = ["partition", "free", &partition, "--reason", "looked at"];
    cluster.command(&program.to_string_lossy()).args(&args).success()?;
    cluster.mock().await_removed(&partition, LIMIT).map(drop)
}
