//! A controller that answers, and refuses every partition.
//!
//! Some job has to ask now and then, or nobody would learn that the refusals are over. One user's request may
//! itself be at fault. So the jobs of each user are counted by themselves, and one may ask at first.

use std::collections::BTreeMap;

/// After so many minutes each user may ask from the beginning, if nobody asks.
const NEW_ROUND: u32 = 10;

/// A controller's refusals of every partition, and the jobs that asked all the same.
#[derive(Clone, Debug)]
pub(crate) struct RefusingController {
    pub(crate) reason: String,
    /// How often it was said that it does: once a minute.
    said: u32,
    /// How many jobs of each user have asked since.
    asked: BTreeMap<u32, u32>,
}

impl RefusingController {
    /// The controller says for the first time that it refuses.
    pub(crate) fn new(reason: String) -> Self {
        Self { reason, said: 1, asked: BTreeMap::new() }
    }

    /// The controller says it once more, a minute later. `is_asked` is whether a job asks it at present.
    /// Returns whether more jobs may ask than before.
    pub(crate) fn said_again(&mut self, reason: String, is_asked: bool) -> bool {
        let before = self.allowance();
        (self.reason, self.said) = (reason, self.said.saturating_add(1));
        // Some job has to find out that it is over: where all have left that asked, others may.
        let begins_anew = !is_asked && self.said.is_multiple_of(NEW_ROUND);
        if begins_anew {
            self.asked.clear();
        }
        begins_anew || self.allowance() > before
    }

    /// A job of this user asks.
    pub(crate) fn asked_by(&mut self, user: u32) {
        *self.asked.entry(user).or_default() += 1;
    }

    /// How many jobs of a user may have asked by now: twice the time, one more. The first may be refused for
    /// what it asks for, with one behind it that would not be; and each that asks has nodes in its hands.
    fn allowance(&self) -> u32 {
        u32::BITS - self.said.leading_zeros()
    }

    /// Whether a job of this user may ask.
    pub(crate) fn lets_ask(&self, user: u32) -> bool {
        self.asked.get(&user).is_none_or(|asked| *asked < self.allowance())
    }
}
