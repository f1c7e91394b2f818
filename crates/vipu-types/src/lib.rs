//! The words every crate shares: IPU counts, partition ids, models, job runs and GRES requests.
//!
//! Nothing here knows Slurm's memory or the controller's wire; these are the values
//! that travel between the two.
#![forbid(unsafe_code)]

mod count;
mod gcd;
mod grant;
mod names;
mod request;
mod run;

pub use count::{IpuCount, NotASize};
pub use gcd::{Device, Gcd};
pub use grant::{BadGrant, Grant};
pub use names::{BadName, ModelName, PartitionId};
pub use request::{GresRequest, RequestError};
pub use run::JobRun;
