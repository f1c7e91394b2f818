//! `gres_vipu.so`: checks a node's GRES and configuration when its slurmd starts, and ends the tasks of jobs with IPUs
//! that would run without them.
//!
//! Slurm loads it in slurmd, slurmstepd and slurmctld, and works without it where it is not installed. The
//! nodes contain no IPUs, so there are no devices to list or to protect, and most functions of the interface
//! do nothing. `spank_ipuof.so` gives tasks their IPUs; this object sees to it that no task runs without that plugin.
#![deny(unsafe_code)]

mod check;
#[allow(unsafe_code, reason = "the exports are C functions")]
mod exports;
mod spank;
