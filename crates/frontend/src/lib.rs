//! The front end: the answers to Slurm's callbacks, and the work of the host thread.
//!
//! Slurm is behind the traits of [`slurm`], clocks and queues are behind [`Outside`]. `slurmctld-vipu`
//! implements these traits on slurmctld's records, and the simulation of recovery on records of its own. Both
//! run this code.
//!
//! | Slurm's callback | function |
//! |---|---|
//! | job_submit, job_modify | [`submitted`], [`changed`] |
//! | job_test, before and after the stock selector | [`before`], [`after`], [`refused`] |
//! | job_begin, and its failure | [`job_begin`], [`undo_begin`] |
//! | job_ready | [`job_ready`] |
//! | job_fini | [`job_fini`] |
//! | the start of slurmctld | [`take_over`], [`adopt`] |
//! | none: the thread that may take Slurm's locks | [`HostThread::work`] |
//!
//! This crate is for Slurm only: [`slurm::Job`] has all of a job's record that scheduling, limits and accounting
//! need. Another scheduler has a front end of its own on the crates `ledger` and `driver`: see docs/library.md.
//!
//! ```
//! use std::sync::mpsc::{Sender, channel};
//!
//! use frontend::{Frontend, HostTask, Outside};
//! use ledger::{Action, Claim, Event, Millis, ModelFacts, Seconds};
//!
//! /// Queues actions, and has clocks that stand.
//! struct Queue(Sender<Action>);
//!
//! impl Outside for Queue {
//!     fn now(&self) -> Millis {
//!         Millis(1)
//!     }
//!     fn unix_time(&self) -> Seconds {
//!         Seconds(1)
//!     }
//!     fn local_time(&self, at: Seconds) -> String {
//!         at.0.to_string()
//!     }
//!     fn carry_out(&self, actions: Vec<Action>) {
//!         actions.into_iter().for_each(|action| self.0.send(action).unwrap());
//!     }
//!     fn note_launched(&self, _: Claim, _: Seconds) {}
//!     fn ask_host(&self, _: HostTask) {}
//!     fn is_switched_off(&self) -> bool {
//!         false
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (model, controller) = (vipu_types::ModelName::new("pod16")?, "vipu.example.org:8090".parse()?);
//! let pod16 = ModelFacts::new(model, vec![controller], vipu_types::IpuCount::new(16)?);
//! let (queue, actions) = channel();
//! let frontend = Frontend::new(Box::new(Queue(queue)));
//! frontend.tell(Event::Models(vec![pod16]));
//! assert_eq!(frontend.ledger().view().models.len(), 1);
//! assert!(matches!(actions.try_recv(), Ok(Action::Driver(_))), "the driver asks the controller");
//! # Ok(())
//! # }
//! ```
//!
//! The test `simulation` of this crate implements all traits: a slurmctld, a controller and a disk that fail.
//!
//! The errors of [`submitted`] and [`changed`] are lines for the user. The answer to a test is a [`Verdict`]. The
//! crate has no features.
//!
//! Lock order: slurmctld's locks, then the ledger's mutex. Code that holds the mutex fills the two queues and
//! looks up job records. It calls nothing that waits or takes the mutex again.
#![forbid(unsafe_code)]

pub mod accounting;
mod adopt_jobs;
mod adopt_partitions;
mod allowed_ipus;
mod before_takeover;
mod between_callbacks;
mod cabling;
mod callbacks;
mod claiming;
mod clocks_and_queues;
mod expected_nodes;
mod frontend;
mod host_thread;
mod internal_error;
mod jobs_for_ledger;
mod keep_and_requeue;
mod launch_mark;
mod ledger_panic;
pub mod licenses;
mod limits;
mod mode_host;
mod models;
mod mutex;
mod node_choice;
mod pool_sizes;
mod preparing;
mod refusal;
mod request;
mod scheduling;
mod shared_ledger;
mod show_partition;
pub mod slurm;
mod slurm_partition_ipus;
mod status;
mod steering;
mod submission;
mod whole_times;

pub use adopt_jobs::adopt;
pub use adopt_partitions::take_over;
pub use cabling::Cabling;
pub use callbacks::{job_begin, job_fini, job_ready, undo_begin};
pub use clocks_and_queues::{HostTask, Outside};
pub use frontend::Frontend;
pub use host_thread::HostThread;
pub use internal_error::TO_USER as INTERNAL_ERROR_TO_USER;
pub use models::{Model, Models};
pub use scheduling::{after, before, refused};
pub use shared_ledger::LockedLedger;
pub use slurm::Verdict;
pub use status::{StatusComposer, state_name};
pub use submission::{changed, drop_forged, refuse_ipus, submitted};
