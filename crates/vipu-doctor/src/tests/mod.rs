//! A healthy host, and the same host broken in one way or in several.

mod conf_files;
mod host_files;
mod hosts;
mod other_faults;
mod tree;
