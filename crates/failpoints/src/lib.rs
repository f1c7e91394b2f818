//! Named places where a test can stop the plugin, or make it panic.
//!
//! Without the feature `armed` nothing is left of them: the macros expand to nothing. With it, who comes to
//! the place `begin` looks for a file of that name in the folder that the environment variable
//! `VIPU_FAILPOINTS` names:
//!
//! * there is none, or no such variable: it goes on;
//! * an empty file: it makes `begin.reached` beside it and waits until `begin` is gone;
//! * a file with text: it takes the file away, unless the text begins with `always`, and panics with the text.
//!
//! And whether a thread does I/O under a lock that slurmctld's scheduler needs: see [`NoIo`].
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

/// While one of these lives its thread must not come to [`io!`]: it holds slurmctld's locks, or one that who
/// holds those may wait for. A test build ends there; any other does not look.
#[derive(Debug)]
pub struct NoIo(PhantomData<*const ()>);

impl NoIo {
    /// From now on.
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

/// A place that waits for a disk or a network, in words: see [`NoIo`].
#[cfg(feature = "armed")]
#[macro_export]
macro_rules! io {
    ($what:literal) => {
        $crate::io($what)
    };
}

/// A place that waits for a disk or a network; a test build looks who comes here.
#[cfg(not(feature = "armed"))]
#[macro_export]
macro_rules! io {
    ($what:literal) => {};
}

/// A place where a thread can be stopped, whatever locks it holds.
#[cfg(feature = "armed")]
#[macro_export]
macro_rules! stop {
    ($place:literal) => {
        $crate::stop($place)
    };
}

/// A place whose name is made up on the way: an expression, looked at in a test build only.
#[cfg(feature = "armed")]
#[macro_export]
macro_rules! stop_at {
    ($place:expr) => {
        $crate::stop(&$place)
    };
}

/// A place where an async task can be stopped, while others on its thread go on.
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
