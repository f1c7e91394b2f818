//! A controller that answers but refuses every partition.
//!
//! Some job has to ask now and then, or the end of the refusals would not be noticed. The request of one user
//! may itself be at fault. The jobs of each user are therefore counted separately, and at first one job may
//! ask.

use std::collections::BTreeMap;

/// The number of minutes after which the counts begin anew, if no job asks.
const NEW_ROUND: u32 = 10;

/// A controller's refusals of every partition, and the jobs that asked all the same.
#[derive(Clone, Debug)]
pub(crate) struct RefusingController {
    pub(crate) reason: String,
    /// The number of reports that it refuses. There is one a minute.
    said: u32,
    /// The number of jobs of each user that have asked since.
    asked: BTreeMap<u32, u32>,
}

impl RefusingController {
    /// The refusals at the first report.
    pub(crate) fn new(reason: String) -> Self {
        Self { reason, said: 1, asked: BTreeMap::new() }
    }

    /// Takes a further report, a minute later. `is_asked` is whether a job asks at present. Returns whether
    /// more jobs may ask than before.
    pub(crate) fn said_again(&mut self, reason: String, is_asked: bool) -> bool {
        let before = self.allowance();
        (self.reason, self.said) = (reason, self.said.saturating_add(1));
        // Some job has to find the end of the refusals. If all jobs that asked have left, others may ask.
        let begins_anew = !is_asked && self.said.is_multiple_of(NEW_ROUND);
        if begins_anew {
            self.asked.clear();
        }
        begins_anew || self.allowance() > before
    }

    /// Counts a job of this user that asks.
    pub(crate) fn asked_by(&mut self, user: u32) {
        *self.asked.entry(user).or_default() += 1;
    }

    /// The number of jobs of a user that may have asked by now. It grows by one each time the duration
    /// doubles. The request of the first job may be at fault, and the next one's not. Each job that asks
    /// holds nodes.
    fn allowance(&self) -> u32 {
        u32::BITS - self.said.leading_zeros()
    }

    /// Whether a job of this user may ask.
    pub(crate) fn lets_ask(&self, user: u32) -> bool {
        self.asked.get(&user).is_none_or(|asked| *asked < self.allowance())
    }
}
