//! Submitting and observing jobs, and the answers of squeue, scontrol and `sbatch --test-only` about their times. These are
//! in seconds since the Unix epoch.

use std::{fmt, str::FromStr, sync::atomic::Ordering, time::Duration};

use anyhow::{Context, Result};

use crate::{Cluster, ClusterCommand, Hosts, JobRecord, cluster::locked, wait_for};

/// The id of a job. Each task of an array has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u32);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for JobId {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> Result<Self> {
        // With several clusters `sbatch --parsable` adds `;cluster`.
        let number = text.trim().split(';').next().unwrap_or_default();
        Ok(Self(number.parse().with_context(|| format!("'{text}' is no job id"))?))
    }
}

/// A job as `scontrol show job` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    pub id: JobId,
    pub array: Option<JobId>,
    /// The number of the array's task. `None` for several tasks that still wait together.
    pub array_task: Option<u32>,
    pub name: String,
    /// The state, for example `CONFIGURING`.
    pub state: String,
    /// The reason for waiting or ending, with underscores for spaces.
    pub reason: String,
    pub system_comment: String,
    /// The exit code and signal, as `0:0`.
    pub exit_code: String,
    pub restarts: u16,
    /// The nodes in Slurm's notation. Empty while the job has none.
    pub nodes: String,
    pub is_batch: bool,
}

impl JobView {
    /// The name by which Slurm's commands know this job alone. One task's id is that of the whole array, and Slurm 22.05
    /// cancels no task by the id of its record.
    pub fn name_in_commands(&self) -> String {
        match (self.array, self.array_task) {
            (Some(array), Some(task)) => format!("{array}_{task}"),
            _ => self.id.to_string(),
        }
    }

    pub fn is_over(&self) -> bool {
        ![
            "PENDING",
            "CONFIGURING",
            "RUNNING",
            "COMPLETING",
            "SUSPENDED",
            "REQUEUED",
            "REQUEUE_HOLD",
            "STOPPED",
        ]
        .contains(&self.state.as_str())
    }
}

impl<H: Hosts> Cluster<H> {
    /// Submits a batch script. Its output goes to [`Cluster::job_output`].
    pub fn sbatch(&self, script: &str, args: &[&str]) -> Result<JobId> {
        self.submit(self.sbatch_command(script, args)?)
    }

    /// Runs a command of [`Cluster::sbatch_command`] that has to succeed.
    pub fn submit(&self, sbatch: ClusterCommand<'_>) -> Result<JobId> {
        let job: JobId = sbatch.success()?.stdout.parse()?;
        locked(&self.submitted).insert(job);
        Ok(job)
    }

    /// The command that submits a batch script, for submits that will be refused or come from other users.
    pub fn sbatch_command(&self, script: &str, args: &[&str]) -> Result<ClusterCommand<'_>> {
        let name = format!("script-{}.sh", self.scripts.fetch_add(1, Ordering::Relaxed));
        let path = self.hosts.write_script(&name, &format!("#!/bin/bash\n{script}\n"))?;
        Ok(self.command("sbatch").args(&["--parsable", "--output=%j.out"]).args(args).args(&[&path]))
    }

    /// Allows slurmctld to know nothing of this job at the end, because Slurm had not saved it.
    pub fn may_be_lost(&self, job: JobId) {
        locked(&self.submitted).remove(&job);
    }

    pub fn job_output(&self, job: JobId) -> String {
        self.job_file(&format!("{job}.out"))
    }

    /// The text of a file in the folder in which batch jobs run. Empty if the file does not exist.
    pub fn job_file(&self, name: &str) -> String {
        self.hosts.job_file(name)
    }

    pub fn jobs(&self) -> Result<Vec<JobView>> {
        JobRecord::parse_all(&self.scontrol(&["show", "job"])?).iter().map(JobRecord::view).collect()
    }

    /// The record of one job as scontrol shows it, with times in seconds since the Unix epoch.
    pub fn job_record(&self, job: JobId) -> Result<JobRecord> {
        let (show, number) = (self.command("scontrol"), job.to_string());
        let text = show.args(&["show", "job", &number]).in_seconds().success()?.stdout;
        let found = JobRecord::parse_all(&text).into_iter().find(|record| record.is_of(job));
        found.with_context(|| format!("scontrol shows no job {job}: {text}"))
    }

    pub fn job(&self, job: JobId) -> Result<JobView> {
        self.job_record(job)?.view()
    }

    /// Waits until `wanted` accepts the job. After `limit` the error has the job's last state.
    pub fn await_job(
        &self,
        job: JobId,
        what: &str,
        limit: Duration,
        wanted: impl Fn(&JobView) -> bool,
    ) -> Result<JobView> {
        let mut last = None;
        let found = wait_for(&format!("job {job} {what}"), limit, || {
            let view = self.job(job)?;
            let as_wanted = wanted(&view);
            last = Some(view.clone());
            Ok(as_wanted.then_some(view))
        });
        found.with_context(|| match last {
            Some(JobView { id, state, reason, system_comment, .. }) => {
                format!("job {id} is {state} for {reason} ({system_comment})")
            }
            None => "the job was never seen".into(),
        })
    }

    pub fn await_state(&self, job: JobId, state: &str, limit: Duration) -> Result<JobView> {
        self.await_job(job, &format!("to be {state}"), limit, |job| job.state == state)
    }

    pub fn await_end(&self, job: JobId, limit: Duration) -> Result<JobView> {
        self.await_job(job, "to end", limit, JobView::is_over)
    }

    /// Waits for a job of this name. The jobs of `srun` and `salloc` have no known id before they start.
    pub fn await_job_named(&self, name: &str, limit: Duration) -> Result<JobId> {
        wait_for(&format!("a job named {name}"), limit, || {
            Ok(self.jobs()?.into_iter().find(|job| job.name == name).map(|job| job.id))
        })
    }

    /// One column of squeue for a job that has not ended, in squeue's notation, for example `%r`.
    pub fn squeue(&self, job: JobId, column: &str) -> Result<String> {
        let args = ["--noheader", "--jobs", &job.to_string(), "--format", column];
        let squeue = self.command("squeue").args(&args).in_seconds();
        Ok(squeue.success()?.stdout.trim().to_owned())
    }

    /// The start, or the expected start of a waiting job. `None` while Slurm shows none.
    pub fn start_of(&self, job: JobId) -> Result<Option<u64>> {
        Ok(self.squeue(job, "%S")?.parse().ok())
    }

    pub fn end_of(&self, job: JobId) -> Result<u64> {
        let end = self.squeue(job, "%e")?;
        end.parse().with_context(|| format!("job {job} ends at '{end}'"))
    }

    /// The start that `sbatch --test-only` predicts for a job with these arguments.
    pub fn test_only(&self, args: &[&str]) -> Result<u64> {
        let command = self.sbatch_command("true", &[args, &["--test-only"]].concat())?;
        let told = command.in_seconds().success()?.stderr;
        let start = told.split("to start at ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        start.with_context(|| format!("sbatch --test-only said: {told}"))
    }

    pub fn end_of_reservation(&self, name: &str) -> Result<u64> {
        let show = self.command("scontrol").args(&["show", "reservation", name]);
        let shown = show.in_seconds().success()?.stdout;
        let end = shown.split_whitespace().find_map(|word| word.strip_prefix("EndTime=")?.parse().ok());
        end.with_context(|| format!("scontrol said: {shown}"))
    }
}
