//! A V-IPU controller to test against, as faithful as the public facts allow.
//!
//! [`Pod`] is the controller without a network: pure, with time handed in. [`MockServer`] serves
//! one over gRPC and can be told to misbehave ([`Fault`], [`Incident`]), from the same process or,
//! through [`control`], from another; what it did can be read back to the nanosecond ([`Report`]).
//! `mock-vipu-server` is the same as a program.
//!
//! As the real one it serves in cleartext to anybody unless told otherwise: over TLS, with or without
//! certificates of the clients ([`Tls`]); to users with access keys ([`User`]). How a call carries its
//! user's id and key is not public; here they are the gRPC metadata `api-user-id` and `api-access-key`.
//!
//! Where the facts are silent the mock chooses: a partition is an aligned block of a power of two IPUs
//! in one allocation, with exactly as many IPU-Link segments as it needs; its name is one that
//! [`vipu_types::PartitionId`] allows; the controller mends a partition at most three times.
#![forbid(unsafe_code)]

pub mod control;
mod nanos;
mod pod;
mod server;

pub use nanos::Nanos;
pub use pod::{
    Allocation, DoubleOwner, Effect, Fault, Hardware, Incident, Made, PartitionRecord, Pattern, Placement,
    Pod, Refusal, Rpc, Saved, Settings, StateChange, StatusCode, Tenure, double_owners,
};
pub use server::{Authority, Mock, MockServer, Options, Report, Signed, Tls, User};
