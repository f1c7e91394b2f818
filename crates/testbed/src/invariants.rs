//! The invariants that hold after every test, on clusters of both kinds.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::{
    Cluster, Hosts, JobView, Mock,
    cluster::{
        locked,
        logs::{faults, node_faults},
    },
    say, wait_until,
};

const JOBS_LIMIT: Duration = Duration::from_secs(180);
const PARTITIONS_LIMIT: Duration = Duration::from_secs(60);

impl<H: Hosts> Cluster<H> {
    /// Cancels the remaining jobs, waits until they are gone, and checks the invariants. No partition and no
    /// IPUoF file is left, no IPU was ever in two partitions, and no job was lost. slurmctld lives, and
    /// neither slurmctld nor a node logged a fault of ours.
    pub fn check_all(&self) -> Result<()> {
        self.clear()?;
        let violations = self.violations();
        ensure!(violations.is_empty(), "at the end this did not hold:\n  {}", violations.join("\n  "));
        Ok(())
    }

    pub(crate) fn check_slurmctld(&self) -> Result<()> {
        self.hosts.slurmctld_lives()?;
        let faults = self.slurmctld_faults()?;
        ensure!(faults.is_empty(), "in slurmctld's log:\n  {}", faults.join("\n  "));
        Ok(())
    }

    fn clear(&self) -> Result<()> {
        self.hosts.slurmctld_lives()?;
        say("cancelling what is left, waiting for the last partitions to go");
        let left: Vec<_> = self.jobs()?.into_iter().filter(|job| !job.is_over()).collect();
        if !left.is_empty() {
            let ids: Vec<_> = left.iter().map(|job| job.id.to_string()).collect();
            let ids: Vec<_> = ids.iter().map(String::as_str).collect();
            // scancel complains of jobs that end at this moment.
            self.command("scancel").args(&ids).output()?;
        }
        wait_until("the last job to end", JOBS_LIMIT, || Ok(self.jobs()?.iter().all(JobView::is_over)))?;
        // A partition or file that stays is reported as a violation, with its name.
        let _ = wait_until("the last partition to go", PARTITIONS_LIMIT, || {
            Ok(self.on_controllers(Mock::partitions)?.is_empty() && self.ipuof_files()?.is_empty())
        });
        Ok(())
    }

    fn violations(&self) -> Vec<String> {
        let checks = [
            ("partition left", self.on_controllers(Mock::partitions)),
            ("IPU owned twice", self.on_controllers(Mock::owned_twice)),
            ("file left in IpuofDir", self.ipuof_files()),
            ("job lost", self.lost_jobs()),
            ("IPUs still counted", self.counted_ipus()),
            ("slurmctld", self.hosts.slurmctld_lives().map(|()| Vec::new())),
            ("slurmctld's log", self.slurmctld_faults()),
            ("a node's log", self.node_faults()),
        ];
        let mut violations = Vec::new();
        for (what, found) in checks {
            match found {
                Ok(found) => violations.extend(found.iter().map(|found| format!("{what}: {found}"))),
                Err(error) => violations.push(format!("{what}: {error:#}")),
            }
        }
        violations
    }

    fn on_controllers(&self, find: impl Fn(&Mock) -> Result<Vec<String>>) -> Result<Vec<String>> {
        Ok(self.hosts.mocks().iter().map(find).collect::<Result<Vec<_>>>()?.concat())
    }

    fn lost_jobs(&self) -> Result<Vec<String>> {
        let known: Vec<_> = self.jobs()?.into_iter().map(|job| job.id).collect();
        let submitted = locked(&self.submitted);
        Ok(submitted.iter().filter(|job| !known.contains(job)).map(ToString::to_string).collect())
    }

    /// The lines in which Slurm shows IPUs in use, of nodes, QOS and associations, though all jobs have ended.
    fn counted_ipus(&self) -> Result<Vec<String>> {
        let shown = [self.scontrol(&["show", "node"])?, self.scontrol(&["show", "assoc_mgr"])?].concat();
        let counts = |tres: &str| {
            let (name, count) = tres.trim().trim_start_matches("AllocTRES=").split_once('=')?;
            let used = count.split_once('(').map_or(count, |(_, used)| used.trim_end_matches(')'));
            (name.trim_start_matches("GrpTRES=").contains("gres/vipu") && used != "0").then_some(())
        };
        let is_of_use = |line: &&str| line.starts_with("AllocTRES=") || line.starts_with("GrpTRES=");
        let lines = shown.lines().map(str::trim).filter(is_of_use);
        Ok(lines
            .filter(|line| line.split(',').any(|tres| counts(tres).is_some()))
            .map(str::to_owned)
            .collect())
    }

    fn slurmctld_faults(&self) -> Result<Vec<String>> {
        Ok(faults(&self.hosts.slurmctld_logs()?, &locked(&self.expected)))
    }

    fn node_faults(&self) -> Result<Vec<String>> {
        let expected = locked(&self.expected);
        let of_node = |node: String| Ok(node_faults(&node, &self.hosts.log_of_node(&node)?, &expected));
        Ok(self.hosts.nodes().into_iter().map(of_node).collect::<Result<Vec<_>>>()?.concat())
    }
}
