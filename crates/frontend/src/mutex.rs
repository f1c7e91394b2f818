//! The locks of this crate. In its tests they are those of shuttle, which tries the schedules of threads.

use std::sync::PoisonError;

#[cfg(test)]
pub(crate) use shuttle::sync::{Mutex, MutexGuard};
#[cfg(not(test))]
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Locks a mutex, also after a panic of another thread. Each change behind these mutexes is complete in
/// itself, except for the ledger's: [`crate::shared_ledger::SharedLedger::tell`] handles those.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
