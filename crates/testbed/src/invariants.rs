//! The invariants that hold after every test, on clusters of both kinds.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::{
    Cluster, Hosts, JobId, JobView, Mock,
    batch_runs::BatchRuns,
    cluster::{
        locked,
        logs::{faults, node_faults},
    },
    say, wait_until,
};

const JOBS_LIMIT: Duration = Duration::from_secs(180);
const PARTITIONS_LIMIT: Duration = Duration::from_secs(60);
/// The longest time for a launch or for the end of a script to arrive.
const SCRIPTS_LIMIT: Duration = Duration::from_secs(10);

impl<H: Hosts> Cluster<H> {
    /// Cancels the remaining jobs, waits until they are gone, and checks the invariants. No partition and no
    /// IPUoF file is left, no IPU was ever in two partitions, and no job was lost. No batch job was running
    /// without a script, ran again without a requeue, or ended otherwise than its script. slurmctld lives, and
    /// neither slurmctld nor a node logged a fault of ours.
    pub fn check_all(&self) -> Result<()> {
        self.hosts.slurmctld_lives()?;
        let without_script = self.jobs_without_script()?;
        self.clear()?;
        let violations = self.violations(&without_script);
        ensure!(violations.is_empty(), "at the end this did not hold:\n  {}", violations.join("\n  "));
        Ok(())
    }

    pub(crate) fn check_slurmctld(&self) -> Result<()> {
        self.hosts.slurmctld_lives()?;
        let faults = self.slurmctld_faults()?;
        ensure!(faults.is_empty(), "in slurmctld's log:\n  {}", faults.join("\n  "));
        Ok(())
    }

    /// Waits until each running batch job has a script. A launch or an end may be on its way. Returns the jobs that
    /// have none after that time.
    pub fn jobs_without_script(&self) -> Result<Vec<JobId>> {
        let mut lost = Vec::new();
        let found = wait_until("a script of each running job", SCRIPTS_LIMIT, || {
            lost = self.jobs()?;
            lost.retain(|job| job.is_batch && job.state == "RUNNING");
            if !lost.is_empty() {
                let runs = self.batch_runs()?;
                lost.retain(|job| runs.is_lost(job));
            }
            Ok(lost.is_empty())
        });
        // The lost jobs tell more than the time that they were given.
        if lost.is_empty() {
            found?;
        }
        Ok(lost.iter().map(|job| job.id).collect())
    }

    fn batch_runs(&self) -> Result<BatchRuns> {
        let nodes = self.hosts.nodes().into_iter().map(|node| self.hosts.log_of_node(&node));
        Ok(BatchRuns::read(&self.hosts.slurmctld_logs()?, &nodes.collect::<Result<Vec<_>>>()?))
    }

    fn clear(&self) -> Result<()> {
        say("cancelling what is left, waiting for the last partitions to go");
        let left: Vec<_> = self.jobs()?.into_iter().filter(|job| !job.is_over()).collect();
        if !left.is_empty() {
            let ids: Vec<_> = left.iter().map(JobView::name_in_commands).collect();
            let ids: Vec<_> = ids.iter().map(String::as_str).collect();
            // scancel complains of jobs that end at this moment.
            self.command("scancel").args(&ids).output()?;
        }
        wait_until("the last job to end", JOBS_LIMIT, || Ok(self.jobs()?.iter().all(JobView::is_over)))?;
        // A partition or file that stays is reported as a violation, with its name.
        let _ = wait_until("the last partition to go", PARTITIONS_LIMIT, || {
            let are_gone =
                self.on_controllers(Mock::partitions)?.is_empty() && self.ipuof_files()?.is_empty();
            // Slurm counts a moment longer.
            Ok(are_gone && self.counted_ipus()?.is_empty())
        });
        Ok(())
    }

    fn violations(&self, without_script: &[JobId]) -> Vec<String> {
        let checks = [
            ("job running without a script", Ok(without_script.iter().map(ToString::to_string).collect())),
            ("run of a script", self.batch_runs().and_then(|runs| Ok(runs.violations(&self.jobs()?)))),
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
