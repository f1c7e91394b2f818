//! A Kubernetes cluster on this machine, for tests: etcd, API server, controller manager, scheduler, and nodes with real
//! kubelets. Without nodes there is the API only.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! let cluster = kubernetes_testbed::Settings::nodes(2).up()?;
//! println!("{}", cluster.kubectl(&["get", "nodes"])?);
//! cluster.down()
//! # }
//! ```
//!
//! The programs and images are built once ([`programs`], [`Image`]), from packages of Debian 12 that are not installed.
//! A cluster takes root. It has a folder, ports, control groups and a network of its own. Its nodes and Pods reach the
//! machine, and nothing beyond. When the process that started a cluster ends, in whatever way, the cluster's processes
//! end too.
//!
//! A function fails when a program or the system does not do in time what the function's comment says.
#![forbid(unsafe_code)]
// Only tests and tasks of this workspace call the testbed: comments stand where a name does not say it all.
#![allow(missing_docs)]

mod certificates;
mod cluster;
mod control_groups;
mod control_plane;
mod daemons;
mod network;
mod node;
mod once;
mod recipes;
mod stays_up;

pub use cluster::{Cluster, Settings, may_have_nodes};
pub use recipes::{Image, programs};
pub use stays_up::{down, hold};
