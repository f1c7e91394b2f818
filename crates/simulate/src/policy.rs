//! The policies of scheduling that are compared. One is here as a whole: a plugin that only counts IPUs.

use std::fmt;

use ledger::{IdleRules, KnownJobs, Placement};

use crate::best_packing::BestPacking;
use crate::controller::{Controller, Manner};
use crate::ledger_scheduler::{Costs, LedgerScheduler, Settings};
use crate::slurm::{Outcome, Scheduler, Verdict, play};
use crate::workload::{Job, Workload};

/// A rule that says which jobs may start, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Free IPUs are counted; the controller refuses where no block is free, and the job is tried again.
    Counting,
    /// Free blocks are known; no job waits for another in line.
    Blocks,
    /// Blocks are kept for the first jobs in line.
    Plans,
    /// Blocks are kept, but the controller always breaks up the largest free block.
    PlansOnBadController,
    /// The ledger chooses the IPUs, too.
    Explicit,
    /// Any free IPUs make a partition: the best possible packing.
    BestPacking,
}

impl Policy {
    /// All policies, in the order of the table.
    pub const ALL: [Self; 6] = [
        Self::Counting,
        Self::Blocks,
        Self::Plans,
        Self::PlansOnBadController,
        Self::Explicit,
        Self::BestPacking,
    ];

    pub fn play(self, workload: &Workload) -> Outcome {
        let (jobs, span, ipus) = (workload.jobs(), workload.span(), workload.ipus);
        let manner = if self == Self::PlansOnBadController { Manner::Worst } else { Manner::Lowest };
        let controller = Controller::new(ipus, manner);
        match self {
            Self::Counting => play(&jobs, span, &mut IpuCounter::new(ipus, controller)),
            Self::BestPacking => play(&jobs, span, &mut BestPacking::new(ipus)),
            _ => {
                let is_explicit = self == Self::Explicit;
                let placement = if is_explicit { Placement::Explicit } else { Placement::Controller };
                let settings = Settings {
                    placement,
                    has_line: self != Self::Blocks,
                    idle: IdleRules::default(),
                    costs: Costs::default(),
                };
                let mut scheduler = LedgerScheduler::new(ipus, controller, settings);
                let outcome = play(&jobs, span, &mut scheduler);
                Outcome { refused: scheduler.calls.refused, ..outcome }
            }
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Counting => "counting only",
            Self::Blocks => "blocks",
            Self::Plans => "blocks with plans",
            Self::PlansOnBadController => "the same, bad controller",
            Self::Explicit => "explicit placement",
            Self::BestPacking => "best possible packing",
        })
    }
}

/// A scheduler that counts IPUs. If the controller nevertheless finds no block, the job goes back into the
/// line, and the next pass tries it again.
#[derive(Debug)]
pub struct IpuCounter {
    free: u32,
    controller: Controller,
}

impl IpuCounter {
    pub fn new(ipus: u32, controller: Controller) -> Self {
        Self { free: ipus, controller }
    }
}

impl Scheduler for IpuCounter {
    fn start(&mut self, job: &Job, _moment: &KnownJobs) -> Verdict {
        if job.size > self.free {
            return Verdict::Waits;
        }
        if !self.controller.create(job.id, job.size, &[]) {
            return Verdict::Refused;
        }
        self.free -= job.size;
        Verdict::Starts
    }

    fn end(&mut self, job: &Job) {
        self.controller.remove(job.id);
        self.free += job.size;
    }
}
