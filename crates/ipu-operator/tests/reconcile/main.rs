//! The reconciler on a small API server with kubelets, and a small ledger, in one thread and in virtual time.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod cluster;
mod endings;
mod engine;
mod faults;
mod lifecycle;
mod operator;
mod pods;
mod scene;
mod simulation;
