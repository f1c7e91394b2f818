//! What is looked at again and again until it is over.

use std::time::Duration;

use ledger::Millis;

/// What is due so soon after the first is looked at with it, under one lock.
const TOGETHER: Duration = Duration::from_millis(100);

/// Things to look at, each with the time of its next look.
pub(super) struct WatchList<T>(Vec<(Millis, T)>);

impl<T> Default for WatchList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> WatchList<T> {
    /// Looks at this, too: first at that time.
    pub(super) fn watch(&mut self, first: Millis, item: T) {
        self.0.push((first, item));
    }

    /// The time of the next look, if there is anything to look at.
    pub(super) fn next(&self) -> Option<Millis> {
        self.0.iter().map(|(next, _)| *next).min()
    }

    /// Drops what is over.
    pub(super) fn retain(&mut self, is_open: impl Fn(&T) -> bool) {
        self.0.retain(|(_, item)| is_open(item));
    }

    /// What is to be looked at now. It stays in the list, so that a panic during the look loses nothing, and is looked at again
    /// after the time that `pause` gives.
    pub(super) fn due(&mut self, now: Millis, pause: impl Fn(&T) -> Duration) -> Vec<T> {
        if self.next().is_none_or(|next| next > now) {
            return Vec::new();
        }
        let soon = after(now, TOGETHER);
        let look = |(next, item): &mut (Millis, T)| {
            (*next <= soon).then(|| {
                *next = after(now, pause(item));
                item.clone()
            })
        };
        self.0.iter_mut().filter_map(look).collect()
    }
}

/// A time that lies so far ahead.
pub(super) fn after(now: Millis, pause: Duration) -> Millis {
    Millis(now.0.saturating_add(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)))
}

/// The time since then.
pub(super) fn since(then: Millis, now: Millis) -> Duration {
    Duration::from_millis(now.0.saturating_sub(then.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_is_looked_at_together_and_again_until_it_is_over() {
        let mut list = WatchList::default();
        assert_eq!(list.next(), None);
        for (first, item) in [(1000, 'a'), (1050, 'b'), (5000, 'c')] {
            list.watch(Millis(first), item);
        }
        let mut due = |now| list.due(Millis(now), |_| Duration::from_secs(1));
        assert_eq!(due(999), []);
        assert_eq!(due(1000), ['a', 'b']);
        assert_eq!(due(1999), []);
        assert_eq!(due(2000), ['a', 'b']);
        list.retain(|item| *item == 'c');
        assert_eq!(list.next(), Some(Millis(5000)));
    }
}
