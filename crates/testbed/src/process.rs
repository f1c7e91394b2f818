//! Processes as `/proc` shows them, and signals that cannot hit the wrong one.

mod inspect;
mod leash;
mod tree;

pub use leash::{Lead, Leashed, Start};
pub use tree::{Process, children, descendants};
