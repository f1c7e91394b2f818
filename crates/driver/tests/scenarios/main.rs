//! The driver in a world of its own, under virtual time.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cancel;
mod concurrency;
mod controllers;
mod create;
mod harness;
mod keep;
mod pod;
mod real_client;
mod remove;
#[path = "../common/settings.rs"]
mod settings;
mod survey;
mod trouble;
mod unclaimed;
