//! The output of `sdiag` about the schedulers.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::{Cluster, wait_for};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    pub main_cycles: u64,
    pub backfill_cycles: u64,
    pub backfilling: bool,
    /// The number of jobs that backfill's last cycle went over, or the present cycle up to now.
    pub backfill_depth: u64,
    pub backfilled: u64,
}

impl Diagnosis {
    fn parse(text: &str) -> Result<Self> {
        let (main, backfill) =
            text.split_once("\nBackfilling stats").context("sdiag tells nothing of backfill")?;
        let (_, main) =
            main.split_once("\nMain schedule statistics").context("sdiag tells nothing of main")?;
        Ok(Self {
            main_cycles: number(main, "Total cycles:")?,
            backfill_cycles: number(backfill, "Total cycles:")?,
            backfilling: backfill.lines().next().is_some_and(|rest| rest.contains("in the middle of")),
            backfill_depth: number(backfill, "Last depth cycle:")?,
            backfilled: number(backfill, "Total backfilled jobs (since last slurm start):")?,
        })
    }
}

fn number(section: &str, key: &str) -> Result<u64> {
    let value = section.lines().find_map(|line| line.trim_start().strip_prefix(key));
    value.and_then(|value| value.trim().parse().ok()).with_context(|| format!("sdiag says no '{key}'"))
}

impl Cluster {
    pub fn sdiag(&self) -> Result<Diagnosis> {
        Diagnosis::parse(&self.command("sdiag").success()?.stdout)
    }

    pub fn backfill_cycles(&self) -> Result<u64> {
        Ok(self.sdiag()?.backfill_cycles)
    }

    /// Has backfill go over the queue of a cluster without slurmd ([`crate::Settings::cloud`]). Returns at
    /// the end of a cycle that ended after this call.
    pub fn backfill_cycle(&self, limit: Duration) -> Result<Diagnosis> {
        let before = self.backfill_cycles()?;
        // Backfill begins no cycle without a change since the end of the last one. The last cycle may have
        // seen the caller's change already. Slurm counts an update as a change, even if it changes nothing.
        self.scontrol(&["update", "PartitionName=stuck", "State=UP"])?;
        wait_for("a cycle of backfill", limit, || {
            let now = self.sdiag()?;
            Ok((now.backfill_cycles > before).then_some(now))
        })
    }
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
        let wanted = Diagnosis {
            main_cycles: 5,
            backfill_cycles: 7,
            backfilling: true,
            backfill_depth: 13,
            backfilled: 2,
        };
        assert_eq!(Diagnosis::parse(text).unwrap(), wanted);
        assert!(Diagnosis::parse("Jobs started: 3\n").is_err());
    }
}
