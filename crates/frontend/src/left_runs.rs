//! Runs of an earlier slurmctld of which processes may be left on nodes. Until the nodes have told, the jobs do not
//! begin again.

use vipu_types::JobRun;

use crate::sync::{Mutex, lock};

/// All runs of which a node has not told whether processes are left.
#[derive(Default)]
pub(crate) struct LeftRuns(Mutex<Vec<LeftRun>>);

struct LeftRun {
    run: JobRun,
    /// The job in line, if its record got another id since.
    in_line: Option<u32>,
    nodes: Vec<String>,
}

impl LeftRuns {
    pub(crate) fn add(&self, run: JobRun, nodes: &[String]) {
        lock(&self.0).push(LeftRun { run, in_line: None, nodes: nodes.to_vec() });
    }

    /// Notes the job in line of which this was the last run.
    pub(crate) fn is_of(&self, run: JobRun, job: u32) {
        for left in lock(&self.0).iter_mut().filter(|left| left.run == run) {
            left.in_line = Some(job);
        }
    }

    pub(crate) fn remove(&self, run: JobRun) {
        lock(&self.0).retain(|left| left.run != run);
    }

    /// The reason why a job must not begin yet, if there is one.
    pub(crate) fn obstacle(&self, job: u32) -> Option<String> {
        let all = lock(&self.0);
        let left = all.iter().find(|left| left.run.job == job || left.in_line == Some(job))?;
        let nodes = left.nodes.join(",");
        Some(format!("vipu: node {nodes} has not told yet whether it still runs this job"))
    }
}
