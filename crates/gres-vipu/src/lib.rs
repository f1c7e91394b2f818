//! `gres_vipu.so`: checks what a node offers of a Pod, when its slurmd starts.
//!
//! Slurm loads it in slurmd, slurmstepd and slurmctld, and does without it where it is not installed. IPUs
//! are not in the nodes: there is no device to name and none to keep from others, so most of the interface
//! has nothing to do, and what a task is told of its IPUs is `spank_ipuof.so`'s job; here it is only seen to
//! that Slurm loads that.
#![deny(unsafe_code)]

mod check;
#[allow(unsafe_code, reason = "the exports are C functions")]
mod exports;
mod spank;
