//! The main job, started by each command that a user has, with the checks that demo and tests share.

mod array;
mod delay;
mod requests;
mod run;
mod shown;

pub use array::{ArrayWatch, watch_array};
pub use delay::{delay_behind, start_delay};
pub use requests::{BAD_REQUESTS, BadRequest, RESOLVED_REQUESTS, refuse, resolve};
pub use run::{
    IpuRun, await_creating, batch, batch_ended, check_run, is_of_run, is_seen_creating, partition_name,
    salloc, sbatch, srun,
};
pub use shown::{IpuofFile, SHOW, Shown};
