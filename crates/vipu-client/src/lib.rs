//! Async client of the V-IPU controller's user API (gRPC package `virmgrpc`).
//!
//! A [`Client`] stands for one controller and is cheap to clone. It keeps one connection, which is made when
//! first needed and made anew when it breaks. It gives up each call, connecting included, after the timeout
//! of its [`Endpoint`]. An [`Error`] names the controller, the call and the partition, and tells causes apart
//! by [`ErrorClass`].
//!
//! The connection is cleartext HTTP/2 without credentials, unless the [`Endpoint`] says otherwise. Files with
//! certificates, keys and secrets are read when they are needed: certificates for each connection, the user
//! id and access key every few seconds and after a refusal. Renewed files therefore take effect by
//! themselves.
#![forbid(unsafe_code)]

mod access;
mod channel;
mod client;
pub mod code;
mod endpoint;
mod enums;
mod error;
mod files;
mod gcd;
mod inventory;
mod partition_status;
mod requirements;
mod tls;
pub mod wire;

pub use client::Client;
pub use endpoint::{BadEndpoint, Endpoint};
pub use enums::{OperationState, ReadyState};
pub use error::{Call, Error, ErrorClass};
pub use inventory::{Ipu, PartitionInfo};
pub use partition_status::PartitionStatus;
pub use requirements::Requirements;
