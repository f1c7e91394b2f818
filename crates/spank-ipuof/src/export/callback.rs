//! The frame around the work of each callback: results, errors and panics.

use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::host::{self, MissingSymbol};

/// The result of a callback that succeeded.
pub(super) const SUCCESS: c_int = 0;

/// The result that stops the task if the plugin is `required`.
pub(super) const FAILURE: c_int = -1;

/// Does a callback's work. Logs an error, and catches a panic and logs it as an error.
pub(super) fn answer<S>(
    spank: Result<S, MissingSymbol>,
    work: impl FnOnce(&mut S) -> Result<(), String>,
) -> c_int {
    let Ok(mut spank) = spank.inspect_err(|error| eprintln!("spank_ipuof: {error}")) else {
        return FAILURE;
    };
    let result = catch_unwind(AssertUnwindSafe(|| work(&mut spank)));
    match result.unwrap_or_else(|panic| Err(format!("a bug in spank_ipuof.so: {}", text_of(&*panic)))) {
        Ok(()) => SUCCESS,
        Err(error) => {
            host::log(&error);
            FAILURE
        }
    }
}

/// The message of a panic.
pub(super) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked")
}
