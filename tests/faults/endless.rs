//! Faults that never end, with a queue of jobs of which only some need the broken part.

use std::{fs, time::Duration};

use anyhow::{Result, ensure};
use mock_vipu::Effect;
use testbed::{Cluster, JobId, JobView, Settings, permit, wait_until};

use crate::case;

const LIMIT: Duration = Duration::from_secs(60);

/// The reason of jobs in line while a resource of all jobs is in trouble.
const TROUBLE: &str = " is in trouble";

/// The reason of a job that waits for its partition meanwhile.
const WAITING: &str = " - waiting";

/// The number of backfill cycles while the fault lasts.
const CYCLES: u64 = 5;

/// The request and the number of jobs of each kind. Only the first kind needs the first controller, and a
/// file.
const KINDS: [(&str, usize); 3] =
    [("--gres=vipu:pod64:8", 16), ("--gres=vipu:pod16:2", 12), ("--gres=none", 12)];

/// A fault that lasts until the test mends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endless {
    /// The first controller refuses connections.
    ControllerAway,
    /// The first controller removes no partition.
    RemovalFails,
    /// IpuofDir is missing.
    IpuofDirGone,
    /// StateSaveLocation is not writable.
    JournalUnwritable,
}

impl Endless {
    pub const ALL: [Self; 4] =
        [Self::ControllerAway, Self::RemovalFails, Self::IpuofDirGone, Self::JournalUnwritable];

    /// Returns the name for the test.
    pub fn name(self) -> &'static str {
        match self {
            Self::ControllerAway => "controller_away",
            Self::RemovalFails => "removal_fails",
            Self::IpuofDirGone => "ipuof_dir_gone",
            Self::JournalUnwritable => "journal_unwritable",
        }
    }

    /// Returns how many jobs of each kind can run, the reason of the others, and the state of the first job
    /// that meets the fault. A job that meets a full or missing disk keeps its nodes
    /// and waits in CF.
    fn outcome(self) -> ([usize; 3], &'static str, &'static str) {
        match self {
            Self::ControllerAway => ([0, 12, 12], "vipu: no answer from the controller of pod64", "PENDING"),
            // The partitions of these 8 jobs use all IPUs.
            Self::RemovalFails => ([8, 12, 12], "vipu: 8 IPUs of pod64 needed", "COMPLETED"),
            Self::IpuofDirGone => ([0, 12, 12], TROUBLE, "CONFIGURING"),
            Self::JournalUnwritable => ([0, 0, 12], TROUBLE, "CONFIGURING"),
        }
    }

    fn begin(self, cluster: &Cluster) -> Result<()> {
        let (ipuof, state) = (cluster.layout().ipuof(), cluster.layout().state());
        match self {
            Self::ControllerAway => cluster.mock().refuse(),
            Self::RemovalFails => {
                let text = "an agent does not answer".into();
                cluster.mock().inject(mock_vipu::Fault::new(Effect::RemoveFail { text }))
            }
            Self::IpuofDirGone => Ok(fs::rename(&ipuof, ipuof.with_extension("away"))?),
            Self::JournalUnwritable => {
                // The missing file makes slurmctld write the journal as a whole.
                fs::rename(state.join("vipu_journal"), state.join("vipu_journal.moved"))?;
                permit(&state, 0o555)
            }
        }
    }

    fn mend(self, cluster: &Cluster) -> Result<()> {
        let (ipuof, state) = (cluster.layout().ipuof(), cluster.layout().state());
        match self {
            Self::ControllerAway | Self::RemovalFails => cluster.mock().clear(),
            Self::IpuofDirGone => Ok(fs::rename(ipuof.with_extension("away"), &ipuof)?),
            Self::JournalUnwritable => permit(&state, 0o755),
        }
    }
}

fn settings() -> Settings {
    let settings = Cluster::settings().nodes(1).cpus(64).create_time(Duration::from_millis(50));
    let settings = settings.controller(&["--preset=pod16"]).extra_gres("vipu:pod16:no_consume:16");
    let settings = settings.model("pod16", &[1], &["MaxIpusPerJob=16", "Delivery=api"]);
    let conf = ["ApiTimeout=1", "CreateTimeout=3", "RemoveWait=2"];
    let settings = conf.into_iter().fold(settings, Settings::vipu_conf);
    settings.slurm_conf("SchedulerParameters=bf_interval=1").expect_log("error:")
}

/// The jobs of a queue, by their kinds.
struct Queue<'a> {
    cluster: &'a Cluster,
    jobs: [Vec<JobId>; 3],
}

impl<'a> Queue<'a> {
    /// Submits all jobs, held, because Slurm may be unable to take a job during the fault.
    fn submit(cluster: &'a Cluster) -> Result<Self> {
        let mut jobs = [const { Vec::new() }; 3];
        for (jobs, (request, count)) in jobs.iter_mut().zip(KINDS) {
            for _ in 0..count {
                jobs.push(cluster.sbatch("true", &["--hold", request])?);
            }
        }
        Ok(Self { cluster, jobs })
    }

    fn release(&self, jobs: impl Iterator<Item = JobId>) -> Result<()> {
        let list: Vec<_> = jobs.map(|job| job.to_string()).collect();
        self.cluster.scontrol(&["release", &list.join(",")]).map(drop)
    }

    /// Returns the number of jobs of each kind that have run, and all other jobs.
    fn seen(&self) -> Result<([usize; 3], Vec<JobView>)> {
        let (done, others): (Vec<_>, Vec<_>) =
            self.cluster.jobs()?.into_iter().partition(|job| job.state == "COMPLETED");
        let of = |kind: &Vec<JobId>| done.iter().filter(|job| kind.contains(&job.id)).count();
        Ok((self.jobs.each_ref().map(of), others))
    }

    /// Waits until backfill has looked at the queue `CYCLES` times. Changes a job each time.
    fn is_looked_at(&self, waiting: JobId) -> Result<()> {
        let wanted = self.cluster.backfill_cycles()? + CYCLES;
        wait_until("backfill to look at the queue", LIMIT, || {
            let cycles = self.cluster.backfill_cycles()?;
            let comment = format!("Comment=cycle-{cycles}");
            self.cluster.scontrol(&["update", &format!("JobId={waiting}"), &comment])?;
            Ok(cycles >= wanted)
        })
    }
}

/// Lets a queue meet the fault, mends it, and checks that all jobs run.
pub fn run(fault: Endless) -> Result<()> {
    settings().run(|cluster| {
        let queue = Queue::submit(cluster)?;
        let first = queue.jobs[0][0];
        let (can_run, words, state) = fault.outcome();
        let is_told = |job: &JobView| {
            let words = if job.state == "CONFIGURING" { WAITING } else { words };
            job.reason.replace('_', " ").ends_with(words)
        };
        fault.begin(cluster)?;
        queue.release([first].into_iter())?;
        cluster.await_job(first, &format!("to be {state} with the reason"), LIMIT, |job| {
            job.state == state && (is_told(job) || state == "COMPLETED")
        })?;
        queue.release(queue.jobs.iter().flatten().copied().filter(|job| *job != first))?;
        let all_told = || {
            wait_until("all jobs to run that can, and the others to be told", LIMIT, || {
                let (done, others) = queue.seen()?;
                Ok(done == can_run && others.iter().all(is_told))
            })
        };
        all_told()?;
        queue.is_looked_at(queue.jobs[0][15])?;
        // Slurm has cleared the reason of the changed job.
        all_told()?;
        for job in queue.seen()?.1 {
            let state = if job.id == first { state } else { "PENDING" };
            let restarts = u16::from(job.id == first && state == "PENDING");
            let is_held = job.reason.contains("held");
            ensure!(job.state == state && job.restarts == restarts && !is_held, "{job:?}");
        }
        fault.mend(cluster)?;
        wait_until("all jobs to end", LIMIT, || Ok(queue.seen()?.1.is_empty()))?;
        let again = cluster.jobs()?.into_iter().find(|job| job.restarts > u16::from(job.id == first));
        ensure!(again.is_none(), "{again:?}");
        case::no_panic(cluster)
    })
}
