//! The operator for IPUJobs of Kubernetes: their API, and the answers to manifests.
//!
//! Nothing here does I/O.
#![forbid(unsafe_code)]

pub mod admission;
pub mod api;
