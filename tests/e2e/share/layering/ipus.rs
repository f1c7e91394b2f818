//! Jobs that wait for IPUs. They are among the other jobs but are not compared. Under the stock selector,
//! which would start them, they wait for a licence.

use anyhow::{Result, ensure};
use mock_vipu::Incident;
use testbed::{Cluster, wait_until};

use super::cluster::Selector;

/// The name of these jobs, and of a Slurm partition for them alone.
pub(super) const NAME: &str = "ipus";

/// The nodes that these jobs can have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Nodes {
    /// The nodes of all Slurm partitions.
    Shared,
    /// The nodes of a Slurm partition for these jobs alone.
    Apart,
}

/// Returns the request of a job that waits for IPUs.
pub(super) fn request(selector: Selector, ipus: u32) -> String {
    match selector {
        Selector::Stock => "--licenses=pod".into(),
        Selector::Layered => format!("--gres=vipu:pod64:{ipus}"),
    }
}

/// All IPUs, or the licence, in use: one half by a job until its time limit, the other half by another user.
pub(super) struct Taken<'a> {
    cluster: &'a Cluster,
    selector: Selector,
}

impl<'a> Taken<'a> {
    /// Submits a job for half the IPUs with a limit of `minutes`, and waits until the selector knows that
    /// nothing is free. No job may begin in vain: at its end, slurmctld 22.05 would look up the names of its
    /// nodes for ten seconds each, under a lock.
    pub(super) fn take(cluster: &'a Cluster, selector: Selector, minutes: u64) -> Result<Self> {
        let limit = format!("--time={minutes}");
        let submit = |ipus, node: &[&str]| {
            let common = ["--partition=ipus", "--job-name=ipus", &limit, &request(selector, ipus)];
            cluster.sbatch("true", &[&common, node].concat())
        };
        cluster.mock().cause(Incident::Foreign { id: "theirs".into(), size: 32, first: None })?;
        let half = submit(32, &["--nodelist=ipus01"])?;
        cluster.await_job(half, "to have its node", crate::LIMIT, |job| job.state != "PENDING")?;
        let waits = submit(64, &[])?;
        wait_until("nothing to be free", crate::LIMIT, || {
            let reason = cluster.squeue(waits, "%r")?;
            Ok(reason.contains(" needed") || reason == "Licenses")
        })?;
        Ok(Self { cluster, selector })
    }

    /// Checks that no other job got IPUs, and that most waiting jobs have the reason. The rest are behind
    /// jobs that wait for nodes.
    pub(super) fn is_waited_for(&self) -> Result<()> {
        let squeue =
            self.cluster.command("squeue").args(&["-h", "-n", NAME, "-o", "%T %r"]).success()?.stdout;
        let count = |words: &str| squeue.lines().filter(|line| line.starts_with(words)).count();
        let (waiting, told) = (count("PENDING "), count("PENDING vipu: "));
        println!("{:?}: {waiting} jobs wait for IPUs, {told} of them say so", self.selector);
        ensure!(squeue.lines().count() == waiting + 1, "{squeue}");
        ensure!(self.selector == Selector::Stock || 2 * told > waiting, "{squeue}");
        Ok(())
    }
}
