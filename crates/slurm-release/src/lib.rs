//! Facts about every known Slurm release: version numbers, struct offsets, constants.
#![forbid(unsafe_code)]
