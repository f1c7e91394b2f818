//! What every callback of Slurm's has around its work.

use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::host::{self, MissingSymbol};

/// What a callback returns when all is well.
pub(super) const SUCCESS: c_int = 0;

/// What stops the task when the plugin is `required`.
pub(super) const FAILURE: c_int = -1;

/// Does a callback's work: an error is told to Slurm, a panic goes no further than this.
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

/// What a panic said.
pub(super) fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked")
}
