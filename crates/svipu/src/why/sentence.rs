//! The sentences of an answer.

use serde::Serialize;

/// What svipu tells about a job.
#[derive(Serialize)]
pub(super) struct Answer {
    pub(super) job: String,
    /// What the job waits for and its expected start, or what its partition does.
    pub(super) summary: String,
    /// The causes, each following from the next ones.
    pub(super) causes: Vec<Sentence>,
    /// What its user could do.
    pub(super) advice: Vec<Sentence>,
}

/// A cause, or an advice.
#[derive(Serialize)]
pub(crate) struct Sentence {
    /// The kind of the cause or advice, for programs.
    kind: &'static str,
    pub(crate) text: String,
}

impl Sentence {
    pub(crate) fn new(kind: &'static str, text: String) -> Self {
        Self { kind, text }
    }
}

/// The text with a capital at its beginning.
pub(super) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}
