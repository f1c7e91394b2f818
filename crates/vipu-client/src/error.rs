//! The errors of calls, for programs and people to act on.

use std::fmt;
use std::time::Duration;

use tonic::Code;

use crate::code;

/// Makes an enumeration of the calls, each with its gRPC service and method, and its name in messages.
macro_rules! calls {
    ($($call:ident = $service:literal, $method:literal, $words:literal;)+) => {
        /// A call of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Call {
            $(#[doc = concat!("`", $method, "`.")] $call,)+
        }

        impl Call {
            /// All calls there are.
            pub const ALL: [Self; [$($method),+].len()] = [$(Self::$call),+];

            /// The name of the gRPC method.
            pub fn method(self) -> &'static str {
                match self {
                    $(Self::$call => $method,)+
                }
            }

            /// The path of its requests.
            pub fn path(self) -> &'static str {
                match self {
                    $(Self::$call => concat!("/virmgrpc.", $service, "/", $method),)+
                }
            }
        }

        impl fmt::Display for Call {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$call => $words,)+
                })
            }
        }
    };
}

calls! {
    ListPartitions = "UserService", "ListPartitions", "list partitions";
    ListIpuAttributes = "UserService", "ListIPUAttributes", "list IPU attributes";
    CreatePartition = "UserService", "CreatePartition", "create partition";
    RemovePartition = "UserService", "RemovePartition", "remove partition";
    ResetPartition = "UserService", "ResetPartition", "reset partition";
    GetPartitionIpuofConfig = "UserService", "GetPartitionIpuofConfig", "get IPUoF config of partition";
    GetPartitionStatus = "UserService", "GetPartitionStatus", "get status of partition";
    GetVersion = "VersionService", "GetVersion", "get version";
}

/// The causes of errors that call for different reactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The call was never sent, so it was not carried out: no connection could be made, or there are no
    /// credentials.
    NotSent,
    /// The connection broke, or the other end speaks no gRPC. The call may have been carried out.
    Unreachable,
    /// The answer did not come in time. The call may have been carried out.
    Timeout,
    /// No free IPUs, or none that fit (RESOURCE_EXHAUSTED).
    NoRoom,
    /// The name is taken (ALREADY_EXISTS).
    AlreadyExists,
    /// No such partition, allocation or cluster (NOT_FOUND).
    NotFound,
    /// The controller finds the request invalid (INVALID_ARGUMENT, OUT_OF_RANGE).
    Invalid,
    /// The user is not allowed to make this call (PERMISSION_DENIED).
    Denied,
    /// The controller knows no such user, or the access key is wrong (UNAUTHENTICATED). Nothing was done.
    Stranger,
    /// The partition is in a state that does not allow the call (FAILED_PRECONDITION).
    NotReady,
    /// Another call was in the way (ABORTED).
    Aborted,
    /// The controller failed (INTERNAL, DATA_LOSS, UNIMPLEMENTED).
    Internal,
    /// Anything else.
    Other,
}

impl ErrorClass {
    /// The class of an answer with this status.
    pub fn of(code: Code) -> Self {
        match code {
            Code::Unavailable => Self::Unreachable,
            Code::DeadlineExceeded => Self::Timeout,
            Code::ResourceExhausted => Self::NoRoom,
            Code::AlreadyExists => Self::AlreadyExists,
            Code::NotFound => Self::NotFound,
            Code::InvalidArgument | Code::OutOfRange => Self::Invalid,
            Code::PermissionDenied => Self::Denied,
            Code::Unauthenticated => Self::Stranger,
            Code::FailedPrecondition => Self::NotReady,
            Code::Aborted => Self::Aborted,
            Code::Internal | Code::DataLoss | Code::Unimplemented => Self::Internal,
            _ => Self::Other,
        }
    }
}

/// A call that failed. `Display` is one line:
/// `controller 10.1.3.101:8090: create partition slurm_42: no free IPUs (RESOURCE_EXHAUSTED)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    controller: String,
    call: Call,
    partition: Option<String>,
    class: ErrorClass,
    code: Option<Code>,
    words: String,
}

impl Error {
    /// Creates the error of a call that the controller answered with a status other than OK.
    pub(crate) fn answered(
        controller: &str,
        call: Call,
        partition: Option<&str>,
        code: Code,
        words: &str,
    ) -> Self {
        let class = ErrorClass::of(code);
        Self { code: Some(code), ..Self::new(controller, call, partition, class, words) }
    }

    /// Creates the error of a call that got no answer within `limit`.
    pub(crate) fn timeout(controller: &str, call: Call, partition: Option<&str>, limit: Duration) -> Self {
        let words = format!("no answer within {limit:?}");
        Self::new(controller, call, partition, ErrorClass::Timeout, &words)
    }

    /// Creates the error of a call that failed in another way.
    pub(crate) fn new(
        controller: &str,
        call: Call,
        partition: Option<&str>,
        class: ErrorClass,
        words: &str,
    ) -> Self {
        let words = words.split(|c: char| c.is_control()).collect::<Vec<_>>().join(" ");
        let partition = partition.map(str::to_owned);
        Self { controller: controller.to_owned(), call, partition, class, code: None, words }
    }

    /// The kind of cause.
    pub fn class(&self) -> ErrorClass {
        self.class
    }

    /// The gRPC code, when the controller answered with one.
    pub fn code(&self) -> Option<Code> {
        self.code
    }

    /// The cause in the controller's own words, or in those of the network; one line.
    pub fn words(&self) -> &str {
        &self.words
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "controller {}: {}", self.controller, self.call)?;
        if let Some(partition) = &self.partition {
            write!(f, " {partition}")?;
        }
        match (self.words.trim(), self.code) {
            ("", None) => Ok(()),
            ("", Some(code)) => write!(f, ": {}", code::name(code)),
            (words, None) => write!(f, ": {words}"),
            (words, Some(code)) => write!(f, ": {words} ({})", code::name(code)),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "10.1.3.101:8090";

    #[test]
    fn one_line_names_the_controller_the_call_and_the_cause() {
        let of = |code, words| {
            Error::answered(AT, Call::CreatePartition, Some("slurm_42"), code, words).to_string()
        };
        assert_eq!(
            of(Code::ResourceExhausted, "no free IPUs"),
            "controller 10.1.3.101:8090: create partition slurm_42: no free IPUs (RESOURCE_EXHAUSTED)"
        );
        assert_eq!(of(Code::Internal, ""), "controller 10.1.3.101:8090: create partition slurm_42: INTERNAL");
        assert!(of(Code::Unknown, "two\nlines").ends_with(": two lines (UNKNOWN)"));
        let late = Error::timeout(AT, Call::ListPartitions, None, Duration::from_secs(50));
        assert_eq!(late.to_string(), "controller 10.1.3.101:8090: list partitions: no answer within 50s");
    }
}
