//! What one step of Slurm's questions about a job leaves to the next.

use std::sync::{Mutex, PoisonError};

/// One value, for whoever asks for the same right after. Tests run under slurmctld's job write lock, so there is one at a
/// time.
#[derive(Debug)]
pub(crate) struct BetweenCallbacks<K, V>(Mutex<Option<(K, V)>>);

impl<K, V> Default for BetweenCallbacks<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, V> BetweenCallbacks<K, V> {
    /// Leaves a value in the place of whatever was left before.
    pub(crate) fn leave(&self, key: K, value: V) {
        self.put(Some((key, value)));
    }

    /// Forgets what was left.
    pub(crate) fn clear(&self) {
        self.put(None);
    }

    /// Takes what was left for this key; what was left for another is gone as well.
    pub(crate) fn take(&self, key: &K) -> Option<V> {
        self.put(None).filter(|(left, _)| left == key).map(|(_, value)| value)
    }

    fn put(&self, new: Option<(K, V)>) -> Option<(K, V)> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), new)
    }
}
