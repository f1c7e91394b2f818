//! Carries out the ledger's actions: controller calls, journal, IPUoF files.
//!
//! ```text
//! ledger ── Action ──▶ Handle::route ─┬─▶ Driver ──▶ Controller, Journal, Files
//!    ▲                                └─▶ Host
//!    └────── Event ◀── Environment::report ◀── Driver
//! ```
//!
//! Orders for one partition run one after the other, and partitions do not wait for each other. Each
//! controller has surveys of its own. The driver runs on one thread and against traits, so that a test or a
//! simulation can run all of it under virtual time.
//!
//! | trait | stands for | implementation |
//! |---|---|---|
//! | [`Environment`] | clock, and the way back to the ledger | the front end's |
//! | [`Host`] | executor of the actions on jobs | the front end's |
//! | [`Controller`] | V-IPU controller | [`vipu_client::Client`] |
//! | [`Journal`] | intents and results, kept over a crash | [`FileJournal`] |
//! | [`Files`] | IPUoF files | [`IpuofFiles`] |
//!
//! The driver does not decide: it neither chooses IPUs nor knows which job is next. It repeats failed creates
//! within [`ModelSettings::create_timeout`], and removals without end. Failures come back as events with words for
//! people. [`Driver::run`] has one error, [`JournalError`]: another process has taken the journal over. The crate
//! has no features.
//!
//! docs/library.md says what a front end of its own needs.
#![forbid(unsafe_code)]

mod broken_hosts;
mod call_failure;
mod client;
mod controller;
mod create;
mod create_after_removals;
mod create_deadline;
mod create_progress;
mod creates_under_way;
mod directory_identity;
mod driver;
mod durable_files;
mod environment;
mod handle;
mod ipuof_files;
pub mod journal;
mod listing;
mod make_idle;
mod pauses;
mod pod_in_use;
mod refusing_controller;
mod remove;
mod resource;
mod resource_probes;
mod restart_on_panic;
mod run_records;
mod settings;
mod shared_state;
mod shown_as_removed;
mod survey;
#[cfg(test)]
#[path = "../tests/common/claim.rs"]
mod test_claim;
mod tracked;
mod unclaimed;
mod usual_times;
mod withheld;

pub use broken_hosts::BrokenHosts;
pub use call_failure::{CallError, Failure};
pub use controller::{Controller, CreateRequest, Listing, PartitionState};
pub use driver::Driver;
pub use environment::{Environment, Files, Host};
pub use handle::{Handle, Orders, channel};
pub use ipuof_files::IpuofFiles;
pub use journal::{Entry, FileJournal, Journal, JournalError, LiveRecord, NoJournal, Ownership, Stage};
pub use settings::{ModelSettings, PodSetup};
