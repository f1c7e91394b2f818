//! Partitions that outlive a failed job, and jobs that begin again.

mod keep_and_requeue;
