//! What an IPUJob may be: pure judgements on its manifest, for the webhook and for the reconciler.
//!
//! The schema has the defaults of plain fields. [`JobShape`] has those that several fields decide together.

mod defaults;
mod enum_words;
mod names;
mod template;
mod validation;
mod verdict;

pub use defaults::JobShape;
pub use names::LONGEST_NAME;
pub use validation::{Site, validate};
pub use verdict::{Refusal, Verdict};
