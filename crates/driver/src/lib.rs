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

mod announce;
mod bind;
mod client;
mod context;
mod controller;
mod create;
mod driver;
mod environment;
mod files;
mod handle;
mod inventory;
mod ipuof_files;
pub mod journal;
mod keep;
mod launched;
mod marks;
mod pace;
mod patience;
mod pod;
mod refresh;
mod refusals;
mod removals;
mod remove;
mod resource;
mod restart_on_panic;
mod shared;
mod survey;
mod tracked;
mod unclaimed;

pub use controller::{CallError, Controller, CreateRequest, Failure, Listing, PartitionState};
pub use driver::Driver;
pub use environment::{Environment, Host};
pub use files::{Files, FilesError};
pub use handle::{Handle, Orders, channel};
pub use ipuof_files::IpuofFiles;
pub use journal::{
    Entry, FileJournal, Journal, JournalError, LiveRecord, MemoryJournal, NoJournal, Ownership, Stage,
};
pub use pod::{ModelSettings, PodSetup};
