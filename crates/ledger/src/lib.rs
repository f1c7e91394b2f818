//! Who has which IPU, now and later: a pure state machine, `(state, event) -> actions`.
#![forbid(unsafe_code)]

mod capacity;
mod claim;
mod claims;
mod event;
mod invariant;
mod ledger;
mod lifecycle;
mod pod;
mod view;
mod wait;

pub use claim::{Awaits, Gates, Phase, Step};
pub use event::*;
pub use invariant::Violation;
pub use ledger::Ledger;
pub use view::{ClaimView, ModelView, View};
pub use wait::Wait;
