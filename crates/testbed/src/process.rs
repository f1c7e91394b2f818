//! Processes as `/proc` shows them, and signals that cannot hit the wrong one.

mod inspect;
mod lead;
mod tree;

pub use lead::{Lead, Leashed, Start};
use tree::oldest_child;
pub use tree::{Process, descendants};
