//! Who has which IPU, now and later: a pure state machine, `(state, event) -> actions`.
#![forbid(unsafe_code)]

mod event;

pub use event::*;
