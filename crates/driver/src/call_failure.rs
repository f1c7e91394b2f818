//! What becomes of a failed call of a controller. This is the one place that classifies failures.
//!
//! | kind | cause ([`ErrorClass`]) | did it take effect? | a create that meets it | counts as a try |
//! |---|---|---|---|---|
//! | `NotSent` | no connection, no credentials | no | asks again after a pause | if the controller answers others |
//! | `Unclear` | connection broken, no answer in time, an answer without meaning | maybe, or later | looks for the partition first, then asks again | if the controller answers others |
//! | `NoRoom` | no free IPUs | no | tells the ledger, which may give the create up; has a survey made; asks again | never |
//! | `Exists` | the name is taken | no | takes the partition if it is ours; else waits until the name is free, or fails | if the controller answers others |
//! | `Stranger` | unknown user, wrong key | no | has a survey made, which holds back other jobs; asks again | never |
//! | `Refused` | request invalid or not allowed | no | fails at once, and its job is held; if the last three jobs met it, it waits and asks each minute | in other calls than the create call: if the controller answers others |
//!
//! * Tries that count are limited by MaxRetries, all of them by CreateTimeout. Then the create fails, and the
//!   ledger holds the job, or puts it off while the controller answers nobody.
//! * A try that may have failed because of the controller has a survey made: it tells whether others fare
//!   better.
//! * A removal is tried again whatever the failure, without an end. After `Unclear` no partition is made
//!   under the same id any more.
//! * A survey that fails makes jobs wait, with its words as their reason. After `NotSent` and `Unclear` it
//!   asks nothing further.
//! * Where the class is `NotFound`, a status call reports `Absent` and a remove call success.

use vipu_client::{Error, ErrorClass};

/// A call that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// What it means for the driver.
    pub failure: Failure,
    /// Which controller, call and partition, and the controller's own words.
    pub message: String,
    /// Those words alone: the same from whatever call.
    pub cause: String,
}

/// What a failed call means for what to do next: the rows of the table in `call_failure.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Refused for good, nothing was done: asking again is pointless.
    Refused,
    /// Refused as the controller does not know us; nothing was done, and asking again helps once that is
    /// mended.
    Stranger,
    /// No room for the partition at the moment; nothing was done.
    NoRoom,
    /// The name of the partition is taken.
    Exists,
    /// It was not sent, as there is no connection: nothing was done.
    NotSent,
    /// No answer, or one that does not tell: the call may have taken effect, or may still.
    Unclear,
}

/// Whether a try that failed counts: a partition that fails more often than MaxRetries is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// Something is wrong with this partition.
    Always,
    /// Something is wrong with this partition, unless its controller fails all others as well.
    IfOthersAreAnswered,
    /// It says nothing of this partition: others have the IPUs, or the controller does not know us.
    Never,
}

impl Failure {
    /// Whether the try that met this failure counts.
    pub(crate) fn counts(self) -> Counts {
        match self {
            Self::NoRoom | Self::Stranger => Counts::Never,
            Self::Refused | Self::Exists | Self::NotSent | Self::Unclear => Counts::IfOthersAreAnswered,
        }
    }

    /// Whether the call may have taken effect, or may still.
    pub(crate) fn may_take_effect(self) -> bool {
        self == Self::Unclear
    }

    /// Whether the controller itself said nothing that can be made use of.
    #[must_use]
    pub fn is_silence(self) -> bool {
        matches!(self, Self::NotSent | Self::Unclear)
    }
}

impl From<ErrorClass> for Failure {
    fn from(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Invalid | ErrorClass::Denied => Self::Refused,
            ErrorClass::Stranger => Self::Stranger,
            ErrorClass::NoRoom => Self::NoRoom,
            ErrorClass::AlreadyExists => Self::Exists,
            ErrorClass::NotSent => Self::NotSent,
            // Unreachable, Timeout, NotReady, Aborted, and any class that is new.
            _ => Self::Unclear,
        }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        let failure = error.class().into();
        Self { failure, message: error.to_string(), cause: error.words().to_owned() }
    }
}
