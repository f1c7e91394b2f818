//! State changes of partitions that no call brings about.
//!
//! ```text
//! create -> Creating -> Active -> (error) -> Resetting -> Active        up to three times,
//!                   \-> Failed                        \-> Failed
//! remove -> Removing -> Removed -> gone
//!                   \-> Failed    an agent is down, and not forced
//! ```

use super::partition::{State, Step};
use super::{Nanos, Pod};

/// The number of times that the controller tries by itself to mend a partition.
const MAX_AUTO_RESETS: u32 = 3;

impl Pod {
    /// Takes every step that is due by `now`.
    pub fn advance(&mut self, now: Nanos) {
        while let Some((at, _)) = self.agenda.first()
            && *at <= now
        {
            let Some((at, id)) = self.agenda.pop_first() else { return };
            let Some((_, step)) = self.partitions.get_mut(&id).and_then(|partition| partition.next.take())
            else {
                continue;
            };
            match step {
                Step::ComeUp => self.come_up(&id, at),
                Step::Fail(text) => self.fail(&id, text, at),
                Step::Remove { force } => {
                    // The partition exists, because its step was on the agenda.
                    let _ = self.begin_removal(&id, force, at);
                }
                Step::Leave { forced } => self.leave(&id, forced, at),
                Step::Vanish => self.vanish(&id, at),
            }
        }
    }

    fn come_up(&mut self, id: &str, at: Nanos) {
        if let Some(trouble) =
            self.partitions.get(id).and_then(|partition| self.ipus.trouble(partition.block))
            && !self.move_off(id, at)
        {
            return self.break_down(id, trouble, at);
        }
        let Some(partition) = self.partitions.get_mut(id) else { return };
        partition.errors.clear();
        partition.enter(State::Active, at, &mut self.records);
        self.records[partition.record].active.get_or_insert(at);
    }

    /// Moves a partition to sound IPUs, if it may be moved and there is a block.
    fn move_off(&mut self, id: &str, at: Nanos) -> bool {
        let Some(partition) = self.partitions.get_mut(id) else { return false };
        if !partition.spec.relocatable {
            return false;
        }
        partition.spec.chosen = None;
        let Ok((block, allocation)) = self.ipus.place(&partition.spec) else { return false };
        self.ipus.free.insert(partition.block);
        self.ipus.free.remove(block);
        partition.block = block;
        partition.allocation = allocation;
        self.records[partition.record].moves_to(block.ipus(), at);
        true
    }

    /// Breaks a partition with an error that the controller tries to mend by itself.
    pub(crate) fn break_down(&mut self, id: &str, text: String, at: Nanos) {
        let Some(partition) = self.partitions.get_mut(id) else { return };
        if partition.resets >= MAX_AUTO_RESETS {
            return self.fail(id, text, at);
        }
        partition.errors = vec![text];
        partition.resets += 1;
        partition.enter(State::Resetting, at, &mut self.records);
        let up_at = at + self.settings.reset_time();
        partition.plan(Some((up_at, Step::ComeUp)), &mut self.agenda);
    }

    pub(crate) fn fail(&mut self, id: &str, text: String, at: Nanos) {
        let Some(partition) = self.partitions.get_mut(id) else { return };
        partition.errors = vec![text];
        partition.enter(State::Failed, at, &mut self.records);
        partition.plan(None, &mut self.agenda);
    }
}
