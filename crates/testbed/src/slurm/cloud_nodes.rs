//! Clusters whose nodes do not exist. slurmctld schedules jobs on them as on other nodes, and the jobs then
//! wait for ever for their nodes to boot. Without slurmd a thousand nodes cost nothing, and no job ever ends.

use std::time::Duration;

use anyhow::Result;

use crate::{Cluster, Settings, wait_until};

/// Settings that keep Slurm from giving up nodes that never boot.
const CONF: [&str; 7] = [
    "SuspendProgram=/bin/true",
    "ResumeProgram=/bin/true",
    "SuspendTime=-1",
    "SuspendTimeout=1",
    "ResumeTimeout=60000",
    "ResumeRate=0",
    "MessageTimeout=100",
];

/// A node and two Slurm partitions on it, for the jobs that make the schedulers' cycles visible.
const SENTINEL: &str = "NodeName=sentinel CPUs=256 RealMemory=1000 State=CLOUD\n\
                        PartitionName=sentinel Nodes=sentinel PriorityTier=9\n\
                        PartitionName=stuck Nodes=sentinel\n";

/// The least that a job can ask of the sentinel node, for longer than any test takes.
const TINY: [&str; 3] = ["--ntasks=1", "--mem=1", "--time=30-0"];

/// The longest time for a cycle of the main scheduler, and until slurmctld answers after it.
const LIMIT: Duration = Duration::from_secs(90);

impl Settings {
    /// Makes a cluster without slurmd, of these nodes (with `State=CLOUD`) and Slurm partitions, as
    /// slurm.conf has them.
    pub fn cloud(mut self, lines: &str) -> Self {
        self.nodes = 0;
        self.cloud = Some(format!("GresTypes=vipu\n{lines}{SENTINEL}"));
        CONF.into_iter().fold(self, Self::slurm_conf)
    }
}

impl Cluster {
    /// Has the main scheduler go over its queue, and returns when a cycle that began after this call has
    /// ended. Slurm waits for `batch_sched_delay` after the cycle before.
    pub fn main_cycle(&self) -> Result<()> {
        // Only a cycle that begins now knows a job that is submitted now. slurmctld shows the job as started
        // when the cycle is over.
        let args: Vec<_> = ["--partition=sentinel"].into_iter().chain(TINY).collect();
        let job = self.sbatch("true", &args)?;
        self.await_job(job, "to start", LIMIT, |job| job.state != "PENDING").map(drop)
    }

    /// Waits until slurmctld answers, and submits jobs that backfill tries in vain in each of its cycles.
    /// Slurm counts no cycle without a job.
    pub(crate) fn await_cloud(&self) -> Result<()> {
        wait_until("slurmctld to answer", LIMIT, || {
            self.slurmctld()?;
            Ok(self.command("sinfo").output()?.code == 0)
        })?;
        let stuck = |more: &str| {
            let args = ["--partition=stuck", more, "--mem=1", "--time=30-0"];
            self.sbatch("true", &args)
        };
        stuck("--ntasks=1")?;
        stuck("--ntasks=256").map(drop)
    }
}
