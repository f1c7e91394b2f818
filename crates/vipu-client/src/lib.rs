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
//!
//! | call | method | answers when |
//! |---|---|---|
//! | `ListPartitions` | [`Client::list_partitions`] | at once |
//! | `ListIPUAttributes` | [`Client::list_ipus`] | at once |
//! | `CreatePartition` | [`Client::create_partition`] | the create has begun |
//! | `RemovePartition` | [`Client::remove_partition`] | the removal has begun |
//! | `ResetPartition` | [`Client::reset_partition`] | the reset has begun |
//! | `GetPartitionStatus` | [`Client::partition_status`] | at once |
//! | `GetPartitionIpuofConfig` | [`Client::partition_config`] | at once, for an active partition |
//! | `GetVersion` | [`Client::version`] | at once |
//!
//! The client makes each call once. It does not repeat a call that failed, and it does not wait for the end of
//! a create, a removal or a reset. The crate `driver` does both. The administrators' API of V-IPU is not in
//! this crate.
//!
//! ```
//! use std::time::Duration;
//!
//! use vipu_client::{Client, Endpoint, ErrorClass, Requirements};
//! use vipu_types::{IpuCount, PartitionId};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mock = mock_vipu::MockServer::start(mock_vipu::Options::new(mock_vipu::Hardware::new(16))).await?;
//! # let (host, port) = (mock.address().ip().to_string(), mock.address().port());
//! let client = Client::new(Endpoint::plain(host, port, Duration::from_secs(10)))?;
//! let id = PartitionId::new("example")?;
//! client.create_partition(&Requirements::new(id.clone(), IpuCount::new(4)?)).await?;
//!
//! let error = client.create_partition(&Requirements::new(id, IpuCount::new(4)?)).await.unwrap_err();
//! assert_eq!(error.class(), ErrorClass::AlreadyExists);
//! # Ok(())
//! # }
//! ```
//!
//! `examples/one_partition.rs` waits for its partition, prints the IPUoF configuration and removes the
//! partition.
#![forbid(unsafe_code)]

mod access;
mod answers;
mod bounded_threads;
mod channel;
mod client;
pub mod code;
mod endpoint;
mod error;
mod files;
mod names;
mod requirements;
mod tls;
pub mod wire;

pub use answers::{Ipu, OperationState, PartitionInfo, PartitionStatus, ReadyState};
pub use bounded_threads::BoundedThreads;
pub use client::Client;
pub use endpoint::{BadEndpoint, Endpoint};
pub use error::{Call, Error, ErrorClass};
pub use requirements::Requirements;
