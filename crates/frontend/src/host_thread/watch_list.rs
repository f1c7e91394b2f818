//! A list of items that are looked at from time to time until they are over.

use std::time::Duration;

use ledger::Millis;

/// Items that are due within this time are looked at together, under one lock.
const TOGETHER: Duration = Duration::from_millis(100);

/// Items, each with the time of its next look.
pub(super) struct WatchList<T>(Vec<(Millis, T)>);

impl<T> Default for WatchList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> WatchList<T> {
    /// Adds an item, with the time of its first look.
    pub(super) fn watch(&mut self, first: Millis, item: T) {
        self.0.push((first, item));
    }

    /// The time of the next look, if the list is not empty.
    pub(super) fn next(&self) -> Option<Millis> {
        self.0.iter().map(|(next, _)| *next).min()
    }

    /// Takes out the items whose time has come, and none before its time.
    pub(super) fn take(&mut self, now: Millis) -> Vec<T> {
        self.0.extract_if(.., |(next, _)| *next <= now).map(|(_, item)| item).collect()
    }

    /// Drops the items that are not open any more.
    pub(super) fn retain(&mut self, is_open: impl Fn(&T) -> bool) {
        self.0.retain(|(_, item)| is_open(item));
    }

    /// The items to look at now. They stay in the list, so that a panic during the look loses nothing. Each
    /// is due again after the time that `pause` gives.
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

/// The time that is `pause` later than `now`.
pub(super) fn after(now: Millis, pause: Duration) -> Millis {
    Millis(now.0.saturating_add(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)))
}

/// The time from `then` until `now`. Zero if `then` is later.
pub(super) fn since(then: Millis, now: Millis) -> Duration {
    Duration::from_millis(now.0.saturating_sub(then.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_items_are_looked_at_together_until_they_are_over() {
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

    #[test]
    fn an_item_is_taken_once_and_not_before_its_time() {
        let mut list = WatchList::default();
        list.watch(Millis(1000), 'a');
        list.watch(Millis(1050), 'b');
        assert_eq!([list.take(Millis(999)), list.take(Millis(1000))], [vec![], vec!['a']]);
        assert_eq!([list.take(Millis(1049)), list.take(Millis(1050))], [vec![], vec!['b']]);
        assert_eq!(list.next(), None);
    }
}
