//! The API as it is on the wire: code generated from `proto/` (`tests/generated_code.rs`).
//!
//! [`crate::Client`] is the convenient way. This module is for writing a controller (feature `server`), and
//! for calls that the client leaves out.

#![allow(
    missing_docs,
    reason = "generated: the fields are documented in the .proto files where their names do not say it all"
)]

#[rustfmt::skip]
mod virmgrpc;

pub use virmgrpc::*;
