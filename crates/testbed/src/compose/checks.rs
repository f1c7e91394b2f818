//! The checks after every test, on a cluster of containers.

use std::{collections::BTreeSet, sync::Mutex};

use anyhow::{Context, Result, ensure};

use super::{Cluster, NODES};
use crate::{
    JobId, JobView,
    cluster::logs::{faults, node_faults},
    invariants::Checked,
    mock_controller::owned_twice,
};

impl Cluster {
    /// The files in IpuofDir.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn ipuof_files(&self) -> Result<Vec<String>> {
        let list = self.login().command("ls").args(&["-A", "/ipuof"]).success()?.stdout;
        // What says whose directory it is stays.
        let files = list.lines().filter(|name| !name.starts_with(".vipu_"));
        Ok(files.map(str::to_owned).collect())
    }
}

impl Checked for Cluster {
    fn slurmctld_lives(&self) -> Result<()> {
        self.scontrol(&["ping"]).context("slurmctld does not answer")?;
        // A crash would have ended the container, and nothing but a test starts it again.
        ensure!(self.host("slurmctld")?.runs()?, "slurmctld's host is down");
        Ok(())
    }

    fn known_jobs(&self) -> Result<Vec<JobView>> {
        self.jobs()
    }

    fn submitted_jobs(&self) -> &Mutex<BTreeSet<JobId>> {
        &self.submitted
    }

    fn cancel(&self, jobs: &[&str]) -> Result<()> {
        // Jobs that end in this very moment make scancel complain.
        self.login().command("scancel").args(jobs).output().map(drop)
    }

    fn partitions(&self) -> Result<Vec<String>> {
        self.controller().partitions()
    }

    fn owned_twice(&self) -> Result<Vec<String>> {
        Ok(owned_twice(&self.controller().report()?))
    }

    fn files(&self) -> Result<Vec<String>> {
        self.ipuof_files()
    }

    fn slurmctld_faults(&self) -> Result<Vec<String>> {
        Ok(faults(&self.slurmctld_log()?, &self.expected))
    }

    fn node_faults(&self) -> Result<Vec<String>> {
        let of_node = |node| Ok(node_faults(node, &self.host(node)?.log()?, &self.expected));
        Ok(NODES.map(of_node).into_iter().collect::<Result<Vec<_>>>()?.concat())
    }
}
