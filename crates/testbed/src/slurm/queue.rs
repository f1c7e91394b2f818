//! The answers of squeue, scontrol and `sbatch --test-only` about waiting jobs and reservations. All times
//! are in seconds since the Unix epoch.

use anyhow::{Context, Result};

use crate::{Cluster, Hosts, JobId};

impl<H: Hosts> Cluster<H> {
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
