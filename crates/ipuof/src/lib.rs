//! The IPUoF config file and environment: render, write safely, remove.
//!
//! A program finds its IPUs through one file per GCD (graph compilation domain). [`IpuofDir`] writes these
//! files into the directory that all nodes share, each whole and for the job's user only, and removes them.
//! [`variables`] names the environment variables that lead a program to its file.
#![forbid(unsafe_code)]

mod access;
mod directory;
mod error;
mod json;
mod names;
pub mod variables;

pub use access::Access;
pub use directory::{IpuofDir, Readers};
pub use error::Error;
pub use json::{to_json, uses_rdma};
pub use names::file_name;
