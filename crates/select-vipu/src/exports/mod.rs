//! The symbols that Slurm looks up in the object. There are no others.

mod hooks;
mod init;
mod selector;
