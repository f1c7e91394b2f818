//! Jobs of a cluster of containers: submitting them as its user, looking at them as root.

use std::time::Duration;

use anyhow::{Context, Result};

use super::{Cluster, HostCommand, USER};
use crate::{JobId, JobRecord, JobView, cluster::locked, slurm::job::await_view, wait_for};

impl Cluster {
    /// A command of the user on the login host.
    #[must_use]
    pub fn command(&self, program: &str) -> HostCommand {
        self.login().command(program).as_user()
    }

    /// Submits a batch script as the user; its output goes to [`Cluster::job_output`].
    ///
    /// # Errors
    /// When Slurm refuses it.
    pub fn sbatch(&self, script: &str, args: &[&str]) -> Result<JobId> {
        let sbatch = self.command("sbatch").args(&["--parsable", "--output=%j.out"]).args(args);
        let job = sbatch.input(&format!("#!/bin/bash\n{script}\n")).success()?.stdout.parse()?;
        locked(&self.submitted).insert(job);
        Ok(job)
    }

    /// Takes a job off the list of those that must still be known at the end.
    pub fn may_be_lost(&self, job: JobId) {
        locked(&self.submitted).remove(&job);
    }

    /// A file in the user's home, which all hosts share; empty while it is not there.
    ///
    /// # Errors
    /// When the login host does not answer.
    pub fn home_file(&self, name: &str) -> Result<String> {
        let shown = self.login().command("cat").args(&[&format!("/home/{USER}/{name}")]).output()?;
        Ok(shown.stdout)
    }

    /// What a batch job printed up to now.
    ///
    /// # Errors
    /// When the login host does not answer.
    pub fn job_output(&self, job: JobId) -> Result<String> {
        self.home_file(&format!("{job}.out"))
    }

    fn records(&self, which: &[&str]) -> Result<Vec<JobRecord>> {
        Ok(JobRecord::parse_all(&self.scontrol(&[&["show", "job"], which].concat())?))
    }

    /// All jobs that slurmctld remembers.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn jobs(&self) -> Result<Vec<JobView>> {
        self.records(&[])?.iter().map(JobRecord::view).collect()
    }

    /// All that scontrol shows of one job.
    ///
    /// # Errors
    /// When slurmctld does not know it.
    pub fn job_record(&self, job: JobId) -> Result<JobRecord> {
        let text = self.login().command("scontrol").args(&["show", "job", &job.to_string()]);
        // Times as seconds since the epoch.
        let text = text.env("SLURM_TIME_FORMAT", "%s").success()?.stdout;
        JobRecord::parse_all(&text).pop().with_context(|| format!("scontrol shows no job {job}: {text}"))
    }

    /// One job.
    ///
    /// # Errors
    /// When slurmctld does not know it.
    pub fn job(&self, job: JobId) -> Result<JobView> {
        self.job_record(job)?.view()
    }

    /// Waits until a job is as wanted, and returns it.
    ///
    /// # Errors
    /// When it is not after `limit`; how it is then is in the message.
    pub fn await_job(
        &self,
        job: JobId,
        what: &str,
        limit: Duration,
        wanted: impl Fn(&JobView) -> bool,
    ) -> Result<JobView> {
        await_view(&format!("job {job} {what}"), limit, || self.job(job), wanted)
    }

    /// Waits until a job is in this state, and returns it.
    ///
    /// # Errors
    /// As [`Cluster::await_job`].
    pub fn await_state(&self, job: JobId, state: &str, limit: Duration) -> Result<JobView> {
        self.await_job(job, &format!("to be {state}"), limit, |job| job.state == state)
    }

    /// Waits until a job is over, and returns it.
    ///
    /// # Errors
    /// When it is not after `limit`.
    pub fn await_end(&self, job: JobId, limit: Duration) -> Result<JobView> {
        self.await_job(job, "to end", limit, JobView::is_over)
    }

    /// The jobs of a user's own `srun` and `salloc` have no id before they start: this finds one by its name.
    ///
    /// # Errors
    /// When there is no such job after `limit`.
    pub fn await_job_named(&self, name: &str, limit: Duration) -> Result<JobId> {
        wait_for(&format!("a job named {name}"), limit, || {
            Ok(self.jobs()?.into_iter().find(|job| job.name == name).map(|job| job.id))
        })
    }
}
