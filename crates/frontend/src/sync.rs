//! The locks of this object: in its tests those of shuttle, which tries what threads can do to each other.

use std::sync::PoisonError;

#[cfg(test)]
pub(crate) use shuttle::sync::{Mutex, MutexGuard};
#[cfg(not(test))]
pub(crate) use std::sync::{Mutex, MutexGuard};

/// A panic elsewhere is no reason to stop here: each change behind these mutexes is complete in itself, but for those
/// of the ledger, which [`crate::shared_ledger::SharedLedger::tell`] looks after.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
