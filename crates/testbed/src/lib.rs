//! Real munge, slurmctld, slurmd and mock controller in a directory of their own.
#![forbid(unsafe_code)]
