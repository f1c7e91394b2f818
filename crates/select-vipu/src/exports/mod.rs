//! What Slurm looks up in the object, and nothing else.

mod hooks;
mod init;
mod selector;
