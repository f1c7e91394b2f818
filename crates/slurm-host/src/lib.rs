//! The one safe door into a Slurm daemon.
