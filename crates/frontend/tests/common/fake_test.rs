//! The arguments of a test of a job, as a plain struct.

use frontend::slurm::{Job, Test};

/// The arguments of a test beside the job.
pub struct FakeTest<J> {
    /// The nodes to choose from, and after the stock selector the chosen ones.
    pub nodes: Vec<u32>,
    pub fewest: u32,
    /// The jobs that may be preempted. None if none may.
    pub candidates: Option<Vec<J>>,
    pub has_victims: bool,
    pub not_before: Option<i64>,
}

impl<J> FakeTest<J> {
    pub fn new(nodes: Vec<u32>, fewest: u32) -> Self {
        Self { nodes, fewest, candidates: None, has_victims: false, not_before: None }
    }
}

impl<J: Job> Test for FakeTest<J> {
    type Job = J;

    fn may_preempt(&self) -> bool {
        self.candidates.is_some()
    }

    fn candidates(&self) -> Vec<J> {
        self.candidates.clone().unwrap_or_default()
    }

    fn has_victims(&self) -> bool {
        self.has_victims
    }

    fn preempt(&mut self, victims: &[J]) {
        self.has_victims |= !victims.is_empty();
    }

    fn fewest(&self) -> u32 {
        self.fewest
    }

    fn chosen(&self) -> Vec<u32> {
        self.nodes.clone()
    }

    fn leave_out(&mut self, nodes: &[u32]) {
        self.nodes.retain(|node| !nodes.contains(node));
    }

    fn put_back(&mut self, nodes: &[u32]) {
        self.nodes.extend(nodes);
        self.nodes.sort_unstable();
        self.nodes.dedup();
    }

    fn keep_no_node(&mut self) {
        self.nodes.clear();
    }

    fn not_before(&self) -> Option<i64> {
        self.not_before
    }

    fn forget_not_before(&mut self) {
        self.not_before = None;
    }
}
