//! The driver among controllers, journal and files that do what a script says, under virtual time.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cancel;
#[path = "../common/claim.rs"]
mod claim;
#[allow(dead_code, reason = "the front end's simulation uses the rest")]
#[path = "../common/controller.rs"]
mod controller;
mod controllers;
mod create;
mod files;
mod harness;
mod pool;
mod real_client;
mod remove;
mod reuse;
mod script;
#[path = "../common/settings.rs"]
mod settings;
mod shared_partition;
mod survey;
mod trouble;
mod unclaimed;
