//! Async client of the V-IPU controller's user API (gRPC package `virmgrpc`).
//!
//! A [`Client`] stands for one controller. It is cheap to clone, keeps one connection that is
//! made when it is first needed and made anew when it breaks, and gives up each call, connecting
//! included, after the timeout of its [`Endpoint`]. An [`Error`] says which controller, which
//! call and which partition, and tells causes apart by [`ErrorClass`].
//!
//! The connection is cleartext HTTP/2 without credentials, unless the [`Endpoint`] says otherwise. Files with
//! certificates, keys and secrets are read when they are needed: certificates for each connection, the user
//! id and access key every few seconds and after a refusal. So renewed ones are used without anybody's doing.
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
