//! Carries out what the ledger decides: controller calls, journal, IPUoF files.
//!
//! ```text
//! ledger ── Action ──▶ Handle::route ─┬─▶ Driver ──▶ Controller, Journal, Files
//!    ▲                                └─▶ Host
//!    └────── Event ◀── Environment::report ◀── Driver
//! ```
//!
//! The driver makes and removes one partition at a time by name, many names at once, and
//! surveys each controller. All of it runs on one thread and against traits, so
//! that a test or a simulation can run the whole under virtual time.
#![forbid(unsafe_code)]

mod call_failure;
mod client;
mod context;
mod controller;
mod create;
mod create_deadline;
mod create_progress;
mod directory_identity;
mod driver;
mod environment;
mod handle;
mod inventory;
mod ipuof_files;
pub mod journal;
mod pace;
mod pod;
mod refresh;
mod refusing_controller;
mod remove;
mod resource;
mod resource_probes;
mod restart_on_panic;
mod run_records;
mod settings;
mod shown_as_removed;
mod survey;
mod tracked;
mod unclaimed;

pub use call_failure::{CallError, Failure};
pub use controller::{Controller, CreateRequest, Listing, PartitionState};
pub use driver::Driver;
pub use environment::{Environment, Files, FilesError, Host};
pub use handle::{Handle, Orders, channel};
pub use ipuof_files::IpuofFiles;
pub use journal::{Entry, FileJournal, Journal, JournalError, LiveRecord, NoJournal, Ownership, Stage};
pub use settings::{ModelSettings, PodSetup};
