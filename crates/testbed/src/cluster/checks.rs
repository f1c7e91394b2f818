//! The checks after every test, on a cluster of one host.

use std::{collections::BTreeSet, fs, sync::Mutex};

use anyhow::Result;

use crate::{
    Cluster, JobId, JobView, Mock,
    cluster::locked,
    cluster::logs::{faults, node_faults},
    conf_files::{BACKUP, node_name},
    invariants::{self, Checked},
};

impl Cluster {
    /// [`Cluster::check`], then the end of the cluster.
    ///
    /// # Errors
    /// Everything that does not hold; the logs are printed then.
    pub fn finish(self) -> Result<()> {
        let checked = self.check();
        match &checked {
            Ok(()) => self.verdict.passed(),
            Err(error) => self.verdict.failed(error),
        }
        checked
    }

    /// Cancels what is left of jobs, waits until they are gone, and checks what must hold after every test:
    /// no partition and no IPUoF file is left, no IPU was ever in two partitions, no job was lost,
    /// slurmctld lives, and neither it nor a node logged a fault of ours. Jobs on nodes that do not exist cannot end, so
    /// without slurmd only slurmctld and its log are looked at.
    ///
    /// # Errors
    /// Everything that does not hold.
    pub fn check(&self) -> Result<()> {
        if self.settings.cloud.is_some() { self.check_with_jobs() } else { invariants::check(self) }
    }

    /// The files in IpuofDir, and the folders of steps that fetched some.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn ipuof_files(&self) -> Result<Vec<String>> {
        let steps = self.layout.steps();
        let steps = if steps.is_dir() { Some(fs::read_dir(steps)?) } else { None };
        let entries = fs::read_dir(self.layout.ipuof())?.chain(steps.into_iter().flatten());
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        // What says whose directory it is stays.
        let is_file = |name: &Result<String>| !name.as_ref().is_ok_and(|name| name.starts_with(".vipu_"));
        names.filter(is_file).collect()
    }

    /// slurmctld's log up to now.
    #[must_use]
    pub fn slurmctld_log(&self) -> String {
        self.verdict.logs().read("slurmctld")
    }

    /// The log of the node of this number, counted from 1, up to now: its slurmd's and slurmstepd's.
    #[must_use]
    pub fn node_log(&self, number: u16) -> String {
        self.verdict.logs().read(&node_name(number - 1))
    }
}

/// What is found on all controllers together.
fn on_each(mocks: &[Mock], find: impl Fn(&Mock) -> Result<Vec<String>>) -> Result<Vec<String>> {
    Ok(mocks.iter().map(find).collect::<Result<Vec<_>>>()?.concat())
}

impl Checked for Cluster {
    fn slurmctld_lives(&self) -> Result<()> {
        self.slurmctld().map(drop)
    }

    fn known_jobs(&self) -> Result<Vec<JobView>> {
        self.jobs()
    }

    fn submitted_jobs(&self) -> &Mutex<BTreeSet<JobId>> {
        &self.submitted
    }

    fn cancel(&self, jobs: &[&str]) -> Result<()> {
        // Jobs that end in this very moment make scancel complain.
        self.command("scancel").args(jobs).output().map(drop)
    }

    fn partitions(&self) -> Result<Vec<String>> {
        on_each(&self.mocks, Mock::partitions)
    }

    fn owned_twice(&self) -> Result<Vec<String>> {
        on_each(&self.mocks, Mock::owned_twice)
    }

    fn files(&self) -> Result<Vec<String>> {
        self.ipuof_files()
    }

    fn slurmctld_faults(&self) -> Result<Vec<String>> {
        let expected = locked(&self.expected);
        let logs = [self.slurmctld_log(), self.verdict.logs().read(BACKUP)];
        Ok(logs.iter().flat_map(|log| faults(log, &expected)).collect())
    }

    fn node_faults(&self) -> Result<Vec<String>> {
        let (expected, logs) = (locked(&self.expected), self.verdict.logs());
        let nodes = (0..self.settings.nodes).map(node_name);
        Ok(nodes.flat_map(|node| node_faults(&node, &logs.read(&node), &expected)).collect())
    }
}
