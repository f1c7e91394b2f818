//! Jobs: submitting them and looking at them.

use std::{fmt, fs, str::FromStr, time::Duration};

use anyhow::{Context, Result};

use crate::{Cluster, ClusterCommand, cluster::held, layout::permit, wait_for};

/// The number of a job; each task of an array has its own.
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
    /// Its number.
    pub id: JobId,
    /// The job that its array was submitted as.
    pub array: Option<JobId>,
    /// Its name.
    pub name: String,
    /// Its state, as `CONFIGURING`.
    pub state: String,
    /// Why it waits or ended, with underscores for spaces.
    pub reason: String,
    /// What the administrator's side wrote.
    pub system_comment: String,
    /// Its exit code and signal, as `0:0`.
    pub exit_code: String,
    /// How often it was requeued.
    pub restarts: u16,
    /// Its nodes in Slurm's notation; empty while it has none.
    pub nodes: String,
}

impl JobView {
    /// Whether nothing will happen to it any more.
    #[must_use]
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

    /// Reads the records that `scontrol show job` prints.
    fn parse_all(text: &str) -> Vec<Self> {
        let records = text.split("\n\n").filter(|record| record.trim_start().starts_with("JobId="));
        records.filter_map(Self::parse).collect()
    }

    fn parse(record: &str) -> Option<Self> {
        let value = |key: &str| {
            record.lines().map(str::trim).find_map(|line| {
                // Free text has a line of its own; other values have no spaces.
                if let Some(text) = line.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')) {
                    let whole = key == "SystemComment" || key == "JobName";
                    return Some(if whole { text } else { text.split(' ').next()? });
                }
                let (_, after) = line.split_once(&format!(" {key}="))?;
                Some(if key == "JobName" { after } else { after.split(' ').next()? })
            })
        };
        let text = |key: &str| value(key).filter(|text| *text != "(null)").unwrap_or_default().to_owned();
        Some(Self {
            id: JobId(value("JobId")?.parse().ok()?),
            array: value("ArrayJobId").and_then(|job| job.parse().ok()),
            name: text("JobName"),
            state: text("JobState"),
            reason: text("Reason"),
            system_comment: text("SystemComment"),
            exit_code: text("ExitCode"),
            restarts: value("Restarts")?.parse().ok()?,
            nodes: text("NodeList"),
        })
    }
}

impl Cluster {
    /// Submits a batch script; its output goes to [`Cluster::job_output`].
    ///
    /// # Errors
    /// When Slurm refuses it.
    pub fn sbatch(&self, script: &str, args: &[&str]) -> Result<JobId> {
        self.submit(self.sbatch_command(script, args)?)
    }

    /// Runs a command of [`Cluster::sbatch_command`] that has to succeed.
    ///
    /// # Errors
    /// When Slurm refuses it.
    pub fn submit(&self, sbatch: ClusterCommand<'_>) -> Result<JobId> {
        let job: JobId = sbatch.success()?.stdout.parse()?;
        held(&self.submitted).insert(job);
        Ok(job)
    }

    /// The command that submits a batch script, for submits that are to be refused or come from other users.
    ///
    /// # Errors
    /// When the script cannot be written.
    pub fn sbatch_command(&self, script: &str, args: &[&str]) -> Result<ClusterCommand<'_>> {
        let number = self.commands.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = self.layout.jobs().join(format!("script-{number}.sh"));
        fs::write(&path, format!("#!/bin/bash\n{script}\n"))?;
        permit(&path, 0o755)?;
        let path = path.display().to_string();
        Ok(self.command("sbatch").args(&["--parsable", "--output=%j.out"]).args(args).args(&[&path]))
    }

    /// What a batch job printed up to now.
    #[must_use]
    pub fn job_output(&self, job: JobId) -> String {
        fs::read_to_string(self.layout.jobs().join(format!("{job}.out"))).unwrap_or_default()
    }

    /// All jobs that slurmctld remembers.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn jobs(&self) -> Result<Vec<JobView>> {
        Ok(JobView::parse_all(&self.scontrol(&["show", "job"])?))
    }

    /// One job.
    ///
    /// # Errors
    /// When slurmctld does not know it.
    pub fn job(&self, job: JobId) -> Result<JobView> {
        let text = self.scontrol(&["show", "job", &job.to_string()])?;
        let mut views = JobView::parse_all(&text).into_iter();
        views.find(|view| view.id == job).with_context(|| format!("scontrol shows no job {job}: {text}"))
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
        let mut last = None;
        let found = wait_for(&format!("job {job} {what}"), limit, || {
            let view = self.job(job)?;
            let as_wanted = wanted(&view);
            last = Some(view.clone());
            Ok(as_wanted.then_some(view))
        });
        found.with_context(|| match last {
            Some(last) => {
                format!("job {job} is {} for {} ({})", last.state, last.reason, last.system_comment)
            }
            None => format!("job {job} was never seen"),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scontrol_records_are_read() {
        let text = "JobId=7 ArrayJobId=5 ArrayTaskId=2 JobName=a b=c\n   UserId=root(0) GroupId=root(0)\n   \
                    JobState=PENDING Reason=IPUs:_16_asked,_8_free Dependency=(null)\n   \
                    Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:15\n   NodeList=(null)\n   \
                    SystemComment=no room for slurm_7, x=y\n   Power=\n   \n\n\
                    JobId=8 JobName=x\n   JobState=COMPLETED Reason=None\n   Restarts=0 ExitCode=1:0\n   \
                    NodeList=ipu-pod64-001\n";
        let views = JobView::parse_all(text);
        assert_eq!(views.len(), 2);
        assert_eq!(views[0].id, JobId(7));
        assert_eq!(views[0].array, Some(JobId(5)));
        assert_eq!(views[0].name, "a b=c");
        assert_eq!(views[0].reason, "IPUs:_16_asked,_8_free");
        assert_eq!(views[0].system_comment, "no room for slurm_7, x=y");
        assert_eq!((views[0].restarts, views[0].exit_code.as_str()), (2, "0:15"));
        assert!(views[0].nodes.is_empty() && !views[0].is_over());
        assert_eq!((views[1].state.as_str(), views[1].nodes.as_str()), ("COMPLETED", "ipu-pod64-001"));
        assert!(views[1].is_over());
    }
}
