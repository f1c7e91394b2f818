//! Clusters whose nodes exist on paper only: slurmctld schedules jobs on them as on others, and the jobs then wait for
//! ever for their nodes to boot. Without slurmd a thousand nodes cost nothing, and no job ever ends.

use std::time::Duration;

use anyhow::Result;

use crate::{Cluster, Settings, wait_until};

/// What keeps Slurm from giving up nodes that never boot.
const CONF: [&str; 7] = [
    "SuspendProgram=/bin/true",
    "ResumeProgram=/bin/true",
    "SuspendTime=-1",
    "SuspendTimeout=1",
    "ResumeTimeout=60000",
    "ResumeRate=0",
    "MessageTimeout=100",
];

/// A node, and two partitions on it, for the jobs that make the schedulers' cycles visible.
const SENTINEL: &str = "NodeName=sentinel CPUs=256 RealMemory=1000 State=CLOUD\n\
                        PartitionName=sentinel Nodes=sentinel PriorityTier=9\n\
                        PartitionName=stuck Nodes=sentinel\n";

/// The least that a job can ask of the sentinel node, for longer than any test takes.
const TINY: [&str; 3] = ["--ntasks=1", "--mem=1", "--time=30-0"];

/// How long a cycle of the main scheduler may take, and slurmctld to answer after it.
const LIMIT: Duration = Duration::from_secs(90);

impl Settings {
    /// A cluster without slurmd, of these nodes (with `State=CLOUD`) and Slurm partitions, as slurm.conf has them.
    pub fn cloud(mut self, lines: &str) -> Self {
        self.nodes = 0;
        self.cloud = Some(format!("GresTypes=vipu\n{lines}{SENTINEL}"));
        CONF.into_iter().fold(self, Self::slurm_conf)
    }
}

impl Cluster {
    /// Has the main scheduler go over its queue; returns when a cycle that began after this call has ended. Slurm waits
    /// for `batch_sched_delay` after the cycle before.
    pub fn main_cycle(&self) -> Result<()> {
        // Only such a cycle knows of a job that is submitted now; slurmctld shows it as started when the cycle is over.
        let args: Vec<_> = ["--partition=sentinel"].into_iter().chain(TINY).collect();
        let job = self.sbatch("true", &args)?;
        self.await_job(job, "to start", LIMIT, |job| job.state != "PENDING").map(drop)
    }

    /// Waits until slurmctld answers, and gives it a job that backfill goes over in vain in each of its cycles:
    /// it does not count those without a job.
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
