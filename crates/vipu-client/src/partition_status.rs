//! How far a partition is.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{OperationState, ReadyState, wire};

/// How far a partition is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Whether it can be used.
    pub ready: ReadyState,
    /// What is being done to it.
    pub operation: OperationState,
    /// Why it is in error, in the controller's words.
    pub errors: Vec<String>,
    /// What the controller did to mend it by itself.
    pub auto_reset: AutoReset,
}

/// The controller's own attempts to bring a partition back from an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AutoReset {
    /// How often it tries before it gives up.
    pub max: u32,
    /// How often it has tried.
    pub count: u32,
    /// When it last did.
    pub last: Option<SystemTime>,
}

impl From<wire::PartitionStatus> for PartitionStatus {
    fn from(status: wire::PartitionStatus) -> Self {
        Self {
            ready: status.ready_state.into(),
            operation: status.operation_state.into(),
            errors: status.errors,
            auto_reset: AutoReset {
                max: status.max_auto_reset_retries,
                count: status.auto_reset_retry_count,
                last: status.last_auto_reset_time.and_then(time),
            },
        }
    }
}

/// A time the system can express; no controller resets before 1970.
fn time(stamp: prost_types::Timestamp) -> Option<SystemTime> {
    let seconds = u64::try_from(stamp.seconds).ok()?;
    let nanos = u32::try_from(stamp.nanos).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds).checked_add(Duration::from_nanos(nanos.into()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strange_time_is_no_time() {
        let stamp = |seconds, nanos| time(prost_types::Timestamp { seconds, nanos });
        assert_eq!(stamp(1, 5), Some(UNIX_EPOCH + Duration::new(1, 5)));
        for (seconds, nanos) in [(-1, 0), (0, -1), (i64::MAX, i32::MAX)] {
            assert_eq!(stamp(seconds, nanos), None);
        }
    }
}
