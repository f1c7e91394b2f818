//! Clusters whose nodes exist on paper only: slurmctld schedules jobs on them as on others, and the jobs then wait for
//! ever for their nodes to boot. Without slurmd a thousand nodes cost nothing, and no job ever ends.

use std::{
    fs,
    os::unix::fs::chown,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, ensure};

use crate::{Account, Cluster, Layout, Settings, cluster::held, invariants::Checked, wait_for, wait_until};

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

/// What a cluster without slurmd is made of.
#[derive(Clone, Debug)]
pub(crate) struct Cloud {
    /// Nodes and Slurm partitions, as slurm.conf has them.
    lines: String,
    /// Where the state is that slurmctld begins with.
    state: Option<PathBuf>,
}

impl Cloud {
    /// Nodes and partitions for slurm.conf.
    pub(crate) fn node_lines(&self) -> String {
        format!("GresTypes=vipu\n{}{SENTINEL}", self.lines)
    }

    /// Puts the state that slurmctld begins with, if any, where it looks for it.
    pub(crate) fn restore(&self, layout: &Layout, slurm: &Account) -> Result<()> {
        self.state.as_deref().map_or(Ok(()), |from| copy_tree(from, &layout.state(), slurm))
    }
}

impl Settings {
    /// A cluster without slurmd, of these nodes (with `State=CLOUD`) and Slurm partitions, as slurm.conf has them.
    #[must_use]
    pub fn cloud(mut self, lines: &str) -> Self {
        self.nodes = 0;
        self.cloud = Some(Cloud { lines: lines.into(), state: None });
        CONF.into_iter().fold(self, Self::slurm_conf)
    }

    /// In a cluster without slurmd, what [`Cluster::save_state`] has saved. ClusterName has to be the same.
    #[must_use]
    pub fn state_of(mut self, saved: &Path) -> Self {
        if let Some(cloud) = &mut self.cloud {
            cloud.state = Some(saved.into());
        }
        self
    }
}

/// What `sdiag` says of one of the schedulers. Times are those of the clock on the wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycles {
    /// How many cycles there were.
    pub count: u64,
    /// How long the last one took.
    pub last: Duration,
    /// How long the longest one took.
    pub longest: Duration,
}

/// What `sdiag` says of both schedulers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// Of the main scheduler.
    pub main: Cycles,
    /// Of backfill.
    pub backfill: Cycles,
    /// Whether backfill was at it.
    pub backfilling: bool,
    /// How many jobs backfill's last cycle went over, or the present one up to now.
    pub backfill_depth: u64,
    /// How many jobs backfill has started.
    pub backfilled: u64,
}

impl Diagnosis {
    fn parse(text: &str) -> Result<Self> {
        let (main, backfill) =
            text.split_once("\nBackfilling stats").context("sdiag tells nothing of backfill")?;
        let (_, main) =
            main.split_once("\nMain schedule statistics").context("sdiag tells nothing of main")?;
        Ok(Self {
            main: cycles(main)?,
            backfill: cycles(backfill)?,
            backfilling: backfill.lines().next().is_some_and(|rest| rest.contains("in the middle of")),
            backfill_depth: number(backfill, "Last depth cycle:")?,
            backfilled: number(backfill, "Total backfilled jobs (since last slurm start):")?,
        })
    }
}

fn cycles(section: &str) -> Result<Cycles> {
    let time = |key| Ok::<_, anyhow::Error>(Duration::from_micros(number(section, key)?));
    Ok(Cycles {
        count: number(section, "Total cycles:")?,
        last: time("Last cycle:")?,
        longest: time("Max cycle:")?,
    })
}

fn number(section: &str, key: &str) -> Result<u64> {
    let value = section.lines().find_map(|line| line.trim_start().strip_prefix(key));
    value.and_then(|value| value.trim().parse().ok()).with_context(|| format!("sdiag says no '{key}'"))
}

impl Cluster {
    /// What `sdiag` says.
    ///
    /// # Errors
    /// When it does not.
    pub fn sdiag(&self) -> Result<Diagnosis> {
        Diagnosis::parse(&self.command("sdiag").success()?.stdout)
    }

    /// Has the main scheduler go over its queue; returns when a cycle that began after this call has ended. Slurm waits
    /// for `batch_sched_delay` after the cycle before.
    ///
    /// # Errors
    /// When none does.
    pub fn main_cycle(&self) -> Result<()> {
        // Only such a cycle knows of a job that is submitted now; slurmctld shows it as started when the cycle is over.
        let args: Vec<_> = ["--partition=sentinel"].into_iter().chain(TINY).collect();
        let job = self.sbatch("true", &args)?;
        self.await_job(job, "to start", LIMIT, |job| job.state != "PENDING").map(drop)
    }

    /// Waits until a cycle of backfill has ended that began after this call, or shortly before it.
    ///
    /// # Errors
    /// When none does.
    pub fn backfill_cycle(&self, limit: Duration) -> Result<Diagnosis> {
        let before = self.sdiag()?.backfill.count;
        wait_for("a cycle of backfill", limit, || {
            let now = self.sdiag()?;
            Ok((now.backfill.count > before).then_some(now))
        })
    }

    /// Ends slurmctld and copies what it saved to `into`, for clusters that are to begin so.
    ///
    /// # Errors
    /// When something cannot be copied.
    pub fn save_state(&self, into: &Path) -> Result<()> {
        self.stop_slurmctld()?;
        copy_tree(&self.layout.state(), into, &self.root)
    }

    /// Checks that slurmctld, if it was not ended, lives and logged no fault.
    pub(crate) fn check_with_jobs(&self) -> Result<()> {
        if held(&self.slurmctld).is_some() {
            self.slurmctld_lives()?;
        }
        let faults = self.slurmctld_faults()?;
        ensure!(faults.is_empty(), "in slurmctld's log:\n  {}", faults.join("\n  "));
        Ok(())
    }

    /// Waits until slurmctld answers, and gives it a job that backfill goes over in vain in each of its cycles:
    /// it does not count those without a job.
    pub(crate) fn await_cloud(&self, cloud: &Cloud) -> Result<()> {
        wait_until("slurmctld to answer", LIMIT, || {
            self.slurmctld()?;
            Ok(self.command("sinfo").output()?.code == 0)
        })?;
        if cloud.state.is_some() {
            return Ok(());
        }
        let stuck = |more: &str| {
            let args = ["--partition=stuck", more, "--mem=1", "--time=30-0"];
            self.sbatch("true", &args)
        };
        stuck("--ntasks=1")?;
        stuck("--ntasks=256").map(drop)
    }
}

/// Copies what is in the folder `from` into the folder `to`, for `owner`.
fn copy_tree(from: &Path, to: &Path, owner: &Account) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let (old, new) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            fs::create_dir(&new)?;
            copy_tree(&old, &new, owner)?;
        } else {
            fs::copy(&old, &new).with_context(|| format!("cannot copy {}", old.display()))?;
        }
        chown(&new, Some(owner.uid), Some(owner.gid))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sdiag_is_read_section_by_section() {
        let text = "Jobs started:   3\n\nMain schedule statistics (microseconds):\n\tLast cycle:   12\n\
                    \tMax cycle:    34\n\tTotal cycles: 5\n\tMean cycle:   20\n\tLast queue length: 0\n\n\
                    Main scheduler exit:\n\tEnd of job queue: 5\n\n\
                    Backfilling stats (WARNING: data obtained in the middle of backfilling execution.)\n\
                    \tTotal backfilled jobs (since last slurm start): 2\n\tTotal cycles: 7\n\
                    \tLast cycle when: Fri Nov 20 18:00:00 2026 (1795197600)\n\tLast cycle: 910\n\tMax cycle:  1112\n\
                    \tLast depth cycle: 13\n\tLast depth cycle (try sched): 4\n";
        let micros = Duration::from_micros;
        let wanted = Diagnosis {
            main: Cycles { count: 5, last: micros(12), longest: micros(34) },
            backfill: Cycles { count: 7, last: micros(910), longest: micros(1112) },
            backfilling: true,
            backfill_depth: 13,
            backfilled: 2,
        };
        assert_eq!(Diagnosis::parse(text).unwrap(), wanted);
        assert!(Diagnosis::parse("Jobs started: 3\n").is_err());
    }
}
