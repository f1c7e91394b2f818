//! The ledger of IPUs, now and later: a pure state machine, `(state, event) -> actions`.
//!
//! The [`Ledger`] only decides. It has no clock, no thread and no I/O, and it knows neither Slurm's memory
//! nor the controller's wire. A front end tells it events with [`Ledger::apply`] and carries out the
//! [`Action`]s that it returns. Here the front end is slurmctld. A Kubernetes operator could be another one,
//! because it too starts and ends runs.
//!
//! ```
//! use ledger::{Action, DriverAction, Event, Ledger, Millis, ModelFacts};
//! use vipu_types::{ControllerName, IpuCount, ModelName, PodId};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (model, controller) = (ModelName::new("pod16")?, ControllerName::new("vipu.example.org", 8090)?);
//! let facts = ModelFacts::new(model.clone(), vec![controller.clone()], IpuCount::new(16)?);
//! let pod = PodId { model: model.clone(), controller: controller.clone() };
//! let mut ledger = Ledger::new();
//! let actions = ledger.apply(Millis(1), Event::Models(vec![facts]));
//! assert_eq!(actions, [Action::Driver(DriverAction::Survey(pod.clone()))]);
//!
//! // The answer of the controller: 16 IPUs, no partition.
//! let listing = Event::Inventory { pod, asked: Millis(2), ipus: 16, faulty: 0, partitions: vec![] };
//! ledger.apply(Millis(3), listing);
//! assert_eq!(ledger.fits_now(&model, IpuCount::new(16)?), Ok(controller));
//! let wait = ledger.fits_now(&model, IpuCount::new(32)?).unwrap_err();
//! assert_eq!(wait.to_string(), "vipu: 32 IPUs wanted, a job on pod16 gets at most 16");
//! # Ok(())
//! # }
//! ```
//!
//! `examples/two_jobs.rs` plays two jobs from begin to end.
//!
//! [`Wait`] is the error of questions: why a job cannot have its IPUs now. [`Ledger::apply`] has no error.
//! The crate has no features.
//!
//! # The ledger's data
//!
//! * **Models.** A Pod model has one controller or several, each with the IPUs of a Pod of its own.
//!   [`Event::Models`] lists the models. [`Event::Inventory`] and [`Event::Unreachable`] have the answers of
//!   controllers. IPUs are used by all partitions of the listing, by claims that the listing does not show yet,
//!   and by faults. [`Ledger::fits_now`] answers at once with the first controller that has room, or with the
//!   [`Wait`] that says why none has. The answer is a forecast, because the controller places partitions.
//!   Partitions of unknown place are assumed in the lowest free block, in the order of their creates.
//! * **Claims.** A [`Claim`] is the right of one run of a job to a partition, from [`Event::Begin`] until
//!   [`Event::Gone`]. Its IPUs count as used all that time. Its [`Phase`] is its state. Its partition has an id
//!   that no other has: [`Ledger::new_id`].
//!
//! # The life of a claim
//!
//! ```text
//! Begin ─▶ Claimed ──CreateStarted──▶ Creating ──Up──▶ Ready ──Launched──▶ Running
//!             │                          │  │            │                    │
//!             │                     Fini │  │CreateFailed│ Fini, RunVanished  │ Fini
//!             │                          │  ▼            │                    │
//!             │                          │ Failed        │                    │
//!             │                          │  │ Fini, RunVanished               │
//!             ▼                          ▼  ▼            ▼                    ▼
//!         Releasing:  the create's answer ─▶ nodes done ─▶ removal ──Gone──▶ over
//! ```
//!
//! A job may have its partition before it has nodes. It then starts at once when it gets them:
//!
//! ```text
//! Prepare ─▶ Preparing ──Up──▶ Prepared ──Begin──▶ Running
//!                │                 │
//!                └─── Forgo, ──────┴──▶ Releasing
//!                     a create that fails
//! ```
//!
//! The partition of a run that failed may be kept for a while, for people to look at:
//!
//! ```text
//! Running ──Failed──▶ Keeping ──KeepRecorded──▶ Kept ──KeepOver──▶ Releasing
//! ```
//!
//! If the controller has no room, a create is tried again while the listing leaves hope, or while IPUs are
//! being freed. Otherwise it is given up (GivenUp): its run ends, and its job waits in line again. A create
//! is also given up if the controller keeps refusing although the listing shows room. The listing must then
//! be wrong. The ledger counts IPUs as unusable until something acquits them (`refusals.rs`).
//!
//! # The line
//!
//! A scheduler asks [`Ledger::may_start`] with a [`Wish`]. A job that has to wait for IPUs is in line from
//! then on, in the order of [`Rank`]. No job behind it may make it wait longer. [`Ledger::forecast`]
//! returns the expected start of a job, and [`Ledger::victims`] the jobs that have to end for it to start
//! now.
//!
//! # Drains
//!
//! An administrator may [drain](Event::Drain) a model, a controller or an IPU. Nothing new starts there, and
//! jobs that have IPUs there keep them. The ledger counts drained IPUs as taken, until [`Event::Resume`].
//!
//! # The duties of a front end
//!
//! * Ask [`Ledger::may_start`] just before a run gets its resources and [`Event::Begin`] is told. The ledger takes
//!   a claim that does not fit, but its controller will refuse the partition.
//! * Tell a new ledger the jobs and partitions of an earlier one: [`Event::Adopt`], [`Event::Orphan`].
//! * Keep a begun run from starting (the *launch gate*) until [`HostAction::OpenLaunch`]. If something waits for
//!   the end of a run, keep an ended run from being over (the *completion gate*) until
//!   [`HostAction::OpenCompletion`]. Otherwise say [`Ending::Unheld`]. Each raised gate is opened by exactly one
//!   action.
//! * Carry out each action once and answer as [`Action`] says, in order for one partition. As long as answers
//!   come, every claim whose run ends goes away. Late and repeated answers do no harm.
//! * Remove a partition only for [`DriverAction::Remove`], because a remove must not overtake its create.
//!
//! # How the code is divided
//!
//! Data types have modules of their own and know nothing of the [`Ledger`]. The `Ledger` owns them and takes
//! events (`ledger.rs`). Its questions and decisions are further `impl Ledger` in modules that are not
//! imported: `adopt.rs`, `choose_controller.rs`, `blocks_of_hosts.rs`, `scheduler_questions.rs`, `weigh_refusals.rs`, `idle.rs`,
//! `preparation.rs`, `reconcile.rs`, `steering.rs`, `view.rs` and `invariant.rs`.
//!
//! # Checks
//!
//! [`Ledger::view`] shows everything as plain data. [`Ledger::violations`] is empty if all invariants hold.
//! Tests, simulations and the checks after end-to-end tests ask it.
#![forbid(unsafe_code)]

mod action;
mod adopt;
mod blocks_of_hosts;
mod choose_controller;
mod claim;
mod claim_counts;
mod claim_record;
mod claims;
mod drains;
mod event;
mod failed_preparations;
mod forecast;
mod free_blocks;
mod free_times;
mod free_times_cache;
mod held_without_job;
mod het_jobs;
mod idle;
mod invariant;
mod ipu_holders;
mod jobs;
mod journal_record;
mod ledger;
mod lifecycle;
mod model;
mod partition_health;
mod past_ids;
mod phase;
mod phase_stays;
mod pod;
mod pool;
mod preparation;
mod reconcile;
mod refusals;
mod scheduler_questions;
mod steering;

mod time;
mod view;
mod wait_reason;
mod waiting_line;
mod weigh_refusals;
mod whole_times;
mod withheld;

pub use action::{Action, DriverAction, HostAction, Stale};
pub use claim::Claim;
pub use drains::{Drain, DrainScope, DrainedPart};
pub use event::*;
pub use forecast::{Forecast, PlannedStart, PodInTime};
pub use free_blocks::{Layout, PoolBlock};
pub use free_times::{Licenses, OtherNeeds};
pub use held_without_job::Hold;
pub use invariant::Violation;
pub use jobs::{Jobs, KnownJobs, LicenseReservation, LicenseReservations};
pub use journal_record::{EndedRun, RecordedPartition, RecordedStage};
pub use ledger::Ledger;
pub use model::{IdleRules, KeepIdleFor, ModelFacts, ReuseReset};
pub use phase::{Awaits, Gates, Making, Phase, Step};
pub use phase_stays::Stay;
pub use pod::Contact;
pub use pod::pool::{PoolMember, PoolMemberState};
pub use pool::PoolChoice;
pub use preparation::Preparation;
pub use scheduler_questions::Candidate;
pub use time::{Millis, Seconds, span};
pub use view::{ClaimView, Held, Holder, ModelView, PodView, View};
pub use vipu_types::{Place, Placement};
pub use wait_reason::Wait;
pub use waiting_line::{InLine, Rank, Wish};
pub use whole_times::{WholeTime, WholeTimes};
