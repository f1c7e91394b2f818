//! A V-IPU controller for tests, as faithful as the public facts allow.
//!
//! [`Pod`] is the controller without a network. It is pure: the caller hands in the time. [`MockServer`]
//! serves a Pod over gRPC. It takes faults and incidents ([`Fault`], [`Incident`]) from its own process or,
//! through [`control`], from another. Its history can be read to the nanosecond ([`Report`]).
//! `mock-vipu-server` is the server as a program.
//!
//! Like the real controller, it serves every client in cleartext by default. It can serve over TLS, with or
//! without certificates of the clients ([`Tls`]), and only users with access keys ([`User`]). How a call
//! carries the user's id and key is not public. The mock uses the gRPC metadata `api-user-id` and
//! `api-access-key`.
//!
//! Beyond the public facts, the mock assumes that
//! * a partition is an aligned block of IPUs in one allocation, and their number is a power of two;
//! * a partition has exactly as many IPU-Link segments as it needs;
//! * the name of a partition is valid as a [`vipu_types::PartitionId`];
//! * the controller mends a partition at most three times.
#![forbid(unsafe_code)]
// Only this workspace uses the mock. Comments are only where a name is not enough.
#![allow(missing_docs)]

pub mod control;
mod pod;
mod server;

pub use pod::{
    Allocation, DoubleOwner, Effect, Fault, Hardware, Incident, Made, Nanos, PartitionRecord, Placement, Pod,
    Refusal, Rpc, Saved, Settings, StateChange, StatusCode, Tenure, double_owners,
};
pub use server::{Authority, Mock, MockServer, Options, Report, Signed, Tls, User};
