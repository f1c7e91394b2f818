//! `select_vipu.so`: layered over the stock selector, asking `vipu_slurmctld.so` where IPUs matter.
//!
//! Slurm's commands, slurmd and slurmstepd load this object too (22.05 to 24.11), so it holds nothing
//! but the forwarding: the driver is another object, loaded in the primary slurmctld only.
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "the exports are C functions")]
mod exports;
mod layer;
