//! What could not be looked at.

/// What could not be looked at, each with the reason.
pub(crate) type Unseen = Vec<(String, String)>;
