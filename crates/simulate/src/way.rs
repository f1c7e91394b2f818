//! The ways of scheduling that are compared.

use std::fmt;

use ledger::Placement;

use crate::controller::{Controller, Manner};
use crate::counting::Counting;
use crate::fluid::Fluid;
use crate::ledgered::Ledgered;
use crate::slurm::{Outcome, play};
use crate::workload::Workload;

/// A way of scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Free IPUs are counted; the controller refuses where no block is free, and the job is tried again.
    Counting,
    /// Free blocks are known; nobody is in line.
    Blocks,
    /// Blocks are kept for who is first in line.
    Plans,
    /// The same on a controller that always breaks up the largest free block.
    PlansOnBadController,
    /// The ledger chooses the IPUs, too.
    Explicit,
    /// Any free IPUs make a partition: the best possible packing.
    Fluid,
}

impl Way {
    /// All of them, in the order of a table.
    pub const ALL: [Self; 6] =
        [Self::Counting, Self::Blocks, Self::Plans, Self::PlansOnBadController, Self::Explicit, Self::Fluid];

    /// What becomes of these jobs.
    #[must_use]
    pub fn play(self, workload: &Workload) -> Outcome {
        let (jobs, span, ipus) = (workload.jobs(), workload.span(), workload.ipus);
        let manner = if self == Self::PlansOnBadController { Manner::Worst } else { Manner::Lowest };
        let controller = Controller::new(ipus, manner);
        match self {
            Self::Counting => play(&jobs, span, &mut Counting::new(ipus, controller)),
            Self::Fluid => play(&jobs, span, &mut Fluid::new(ipus)),
            _ => {
                let is_explicit = self == Self::Explicit;
                let placement = if is_explicit { Placement::Explicit } else { Placement::Controller };
                play(&jobs, span, &mut Ledgered::new(ipus, controller, placement, self != Self::Blocks))
            }
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Counting => "counting only",
            Self::Blocks => "blocks",
            Self::Plans => "blocks with plans",
            Self::PlansOnBadController => "the same, bad controller",
            Self::Explicit => "explicit placement",
            Self::Fluid => "best possible packing",
        })
    }
}
