//! Partitions that outlive a failed job, and jobs that begin anew.

mod keep_and_requeue;
