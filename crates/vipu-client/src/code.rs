//! The gRPC status codes and their well-known names.

use tonic::Code;

const NAMES: [(Code, &str); 17] = [
    (Code::Ok, "OK"),
    (Code::Cancelled, "CANCELLED"),
    (Code::Unknown, "UNKNOWN"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
    (Code::NotFound, "NOT_FOUND"),
    (Code::AlreadyExists, "ALREADY_EXISTS"),
    (Code::PermissionDenied, "PERMISSION_DENIED"),
    (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (Code::FailedPrecondition, "FAILED_PRECONDITION"),
    (Code::Aborted, "ABORTED"),
    (Code::OutOfRange, "OUT_OF_RANGE"),
    (Code::Unimplemented, "UNIMPLEMENTED"),
    (Code::Internal, "INTERNAL"),
    (Code::Unavailable, "UNAVAILABLE"),
    (Code::DataLoss, "DATA_LOSS"),
    (Code::Unauthenticated, "UNAUTHENTICATED"),
];

/// Returns the name of `code`, for example `RESOURCE_EXHAUSTED`.
pub fn name(code: Code) -> &'static str {
    NAMES.iter().find(|(known, _)| *known == code).map_or("UNKNOWN", |(_, name)| name)
}

/// Returns the code with the name `name`.
pub fn from_name(name: &str) -> Option<Code> {
    NAMES.iter().find(|(_, known)| *known == name).map(|(code, _)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_name() {
        for number in 0..=16 {
            let code = Code::from_i32(number);
            assert_eq!(from_name(name(code)), Some(code));
        }
        assert_eq!(name(Code::ResourceExhausted), "RESOURCE_EXHAUSTED");
        assert_eq!(from_name("no such code"), None);
    }
}
