//! Named places where a test can stop the plugin, or make it panic.
//!
//! Without the feature `armed`, the macros expand to nothing. With it, code at the place `begin` looks for a
//! file of that name, in the folder that the environment variable `VIPU_FAILPOINTS` names:
//!
//! * no file, or no such variable: the code continues
//! * an empty file: the code creates `begin.reached` beside it and waits until `begin` is removed
//! * a file with text: the code removes the file, unless the text begins with `always`, and panics with it
//!
//! The crate also checks that no thread does I/O under a lock that slurmctld's scheduler needs: see [`NoIo`].
#![forbid(unsafe_code)]

#[cfg(feature = "armed")]
mod armed;
#[cfg(any(test, feature = "armed"))]
mod no_io;

use std::marker::PhantomData;

#[cfg(feature = "armed")]
pub use armed::{VARIABLE, hold, stop};
#[cfg(any(test, feature = "armed"))]
pub use no_io::io;

/// A mark of this thread, which holds slurmctld's locks, or a lock that a holder of those may wait for. The
/// thread must not come to [`io!`] while the mark lives. A test build then ends the process; other builds
/// check nothing.
#[derive(Debug)]
pub struct NoIo(PhantomData<*const ()>);

impl NoIo {
    /// Marks this thread.
    #[must_use]
    pub fn new() -> Self {
        #[cfg(any(test, feature = "armed"))]
        no_io::enter();
        Self(PhantomData)
    }
}

impl Default for NoIo {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for NoIo {
    fn drop(&mut self) {
        #[cfg(any(test, feature = "armed"))]
        no_io::leave();
    }
}

/// A place that waits for a disk or a network, with its description: see [`NoIo`].
#[cfg(feature = "armed")]
#[macro_export]
macro_rules! io {
    ($what:literal) => {
        $crate::io($what)
    };
}

/// A place that waits for a disk or a network. A test build checks the locks of the thread.
#[cfg(not(feature = "armed"))]
#[macro_export]
macro_rules! io {
    ($what:literal) => {};
}

/// A place where a test can stop a thread, whatever locks the thread holds.
#[cfg(feature = "armed")]
#[macro_export]
macro_rules! stop {
    ($place:literal) => {
        $crate::stop($place)
    };
}

/// A place with a computed name. The expression is evaluated in a test build only.
#[cfg(feature = "armed")]
#[macro_export]
macro_rules! stop_at {
    ($place:expr) => {
        $crate::stop(&$place)
    };
}

/// A place where a test can stop an async task, while others on its thread go on.
#[cfg(feature = "armed")]
#[macro_export]
macro_rules! hold {
    ($place:literal) => {
        $crate::hold($place).await
    };
}

/// A place where a test build can be stopped.
#[cfg(not(feature = "armed"))]
#[macro_export]
macro_rules! stop {
    ($place:literal) => {};
}

/// A place where a test build can be stopped.
#[cfg(not(feature = "armed"))]
#[macro_export]
macro_rules! stop_at {
    ($place:expr) => {};
}

/// A place where a test build can be stopped.
#[cfg(not(feature = "armed"))]
#[macro_export]
macro_rules! hold {
    ($place:literal) => {};
}
