//! The classes of failed controller calls and their consequences. No other module classifies failures.
//!
//! | kind | cause ([`ErrorClass`]) | did it take effect? | a create that meets it | counts as a try |
//! |---|---|---|---|---|
//! | `NotSent` | no connection, no credentials | no | asks again after a pause | if the controller answers others |
//! | `Unclear` | connection broken, no answer in time, an answer without meaning | maybe, or later | looks for the partition first, then asks again | if the controller answers others |
//! | `Failed` | an error of the controller's own (INTERNAL, ABORTED and the like) | maybe, but not later | as after `Unclear` | if the controller answers others |
//! | `NoRoom` | no free IPUs | no | tells the ledger, which may give the create up; has a survey made; asks again | never |
//! | `Exists` | the name is taken | no | takes the partition if it is ours; else waits until the name is free, or fails | if the controller answers others |
//! | `Stranger` | unknown user, wrong key | no | has a survey made, which holds back other jobs; asks again | never |
//! | `Refused` | request invalid or not allowed | no | fails at once, and its job is held; if the last three jobs met it, it waits and asks each minute | in other calls than the create call: if the controller answers others |
//!
//! * MaxRetries limits the tries that count, CreateTimeout all tries. Then the create fails. The ledger holds
//!   the job, or puts it off while the controller answers no job.
//! * After a try that may have failed because of the controller, a survey is made. It shows whether the
//!   controller answers others.
//! * A removal is tried again without end, whatever the failure. After `Unclear` the id is not used for another
//!   partition.
//! * After a failed survey jobs wait, with its words as their reason. After `NotSent` and `Unclear` the survey
//!   asks no further question.
//! * For the class `NotFound`, a status call reports `Absent` and a remove call reports success.

use vipu_client::{Error, ErrorClass};
use vipu_types::Words;

/// A call that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// The consequence for the driver.
    pub failure: Failure,
    /// The controller, call and partition, and the controller's own words.
    pub message: Words,
    /// The controller's words alone. They do not depend on the call.
    pub cause: Words,
}

/// The consequence of a failed call, as in the table of `call_failure.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Refused for good. Nothing was done, and asking again is pointless.
    Refused,
    /// Refused because the controller does not know us. Nothing was done. Asking again helps once that is
    /// mended.
    Stranger,
    /// No room for the partition at the moment. Nothing was done.
    NoRoom,
    /// The name of the partition is taken.
    Exists,
    /// Not sent, because there is no connection. Nothing was done.
    NotSent,
    /// No answer, or one without meaning. The call may have taken effect, or may still take effect.
    Unclear,
    /// The controller answered with an error of its own. The call is over, and may have taken effect.
    Failed,
}

/// Whether a failed try counts. A partition that fails more often than MaxRetries is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// Yes. The partition is at fault.
    Always,
    /// Yes, unless its controller fails all other partitions as well.
    IfOthersAreAnswered,
    /// No. The failure says nothing of this partition: others have the IPUs, or the controller does not know
    /// us.
    Never,
}

impl Failure {
    /// Whether a try with this failure counts.
    pub(crate) fn counts(self) -> Counts {
        match self {
            Self::NoRoom | Self::Stranger => Counts::Never,
            Self::Refused | Self::Exists | Self::NotSent | Self::Unclear | Self::Failed => {
                Counts::IfOthersAreAnswered
            }
        }
    }

    /// Whether the call may still take effect.
    pub(crate) fn may_take_effect(self) -> bool {
        self == Self::Unclear
    }

    /// Whether the controller gave no usable answer.
    pub fn is_silence(self) -> bool {
        matches!(self, Self::NotSent | Self::Unclear | Self::Failed)
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
            ErrorClass::NotReady | ErrorClass::Aborted | ErrorClass::Internal => Self::Failed,
            // Unreachable, Timeout, and any new class.
            _ => Self::Unclear,
        }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        let failure = error.class().into();
        Self { failure, cause: error.words().into(), message: Words::of(error) }
    }
}
