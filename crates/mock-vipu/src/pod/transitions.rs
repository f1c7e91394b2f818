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
        if let Some(record) = self.records.get_mut(partition.record) {
            record.active.get_or_insert(at);
        }
    }

    pub(crate) fn fail(&mut self, id: &str, text: String, at: Nanos) {
        let Some(partition) = self.partitions.get_mut(id) else { return };
        partition.errors = vec![text];
        partition.enter(State::Failed, at, &mut self.records);
        partition.plan(None, &mut self.agenda);
    }
}
