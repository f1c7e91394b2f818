//! `select_vipu.so`: forwards to the stock selector, and calls `vipu_slurmctld.so` for jobs with IPUs.
//!
//! Slurm's commands, slurmd and slurmstepd load this object too (22.05 to 24.11), so it only forwards. The
//! driver is in `vipu_slurmctld.so`, which only the primary slurmctld loads.
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "the exports are C functions")]
mod exports;
