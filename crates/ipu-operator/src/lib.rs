//! The operator for IPUJobs of Kubernetes: their API, its admission, and what a job's state demands next.
//!
//! Nothing here does I/O: the controller gathers facts ([`reconcile::Seen`]) and carries out steps
//! ([`reconcile::Step`]).
#![forbid(unsafe_code)]

pub mod admission;
pub mod api;
pub mod reconcile;
