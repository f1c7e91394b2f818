//! The network of nodes and Pods: a network namespace with one bridge, and a cable to this machine.
//!
//! Nothing in it has another route, so that nodes and Pods reach this machine and each other only. The packet filter and
//! the settings of this machine do not apply in it. The kernel removes all of it with the last process in it.

use std::{fs, net::Ipv4Addr, path::Path, process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use testbed::{process::Leashed, wait_for};

use crate::daemons::{Daemons, succeed};
use crate::node::MOST_NODES;

/// The first of the addresses that RFC 2544 keeps for tests of networks. No site uses them.
const FIRST: u32 = u32::from_be_bytes([198, 18, 0, 0]);
/// A cluster has 128 addresses for services, 128 for nodes, and 256 for the Pods of each node.
const PREFIX: u32 = 22;
const LIMIT: Duration = Duration::from_secs(60);

/// The addresses of one cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    first: u32,
}

impl Addresses {
    /// The addresses of the cluster with this number.
    pub fn new(number: u16) -> Self {
        Self { first: FIRST + (u32::from(number) << (32 - PREFIX)) }
    }

    /// The machine's address. Kubernetes gives the first address of services to that of the API server, which listens
    /// there, so that clients in Pods find it as usual.
    pub fn machine(self) -> Ipv4Addr {
        (self.first + 1).into()
    }

    pub fn of_services(self) -> String {
        format!("{}/25", Ipv4Addr::from(self.first))
    }

    /// The address of a node, counted from 1.
    pub fn node(self, number: u8) -> Ipv4Addr {
        (self.first + 128 + u32::from(number)).into()
    }

    /// The configuration of a node's network plugins.
    pub fn of_pods(self, node: u8) -> Value {
        let at = |number: u32| Ipv4Addr::from(self.first + (u32::from(node) << 8) + number);
        let subnet = format!("{}/{PREFIX}", Ipv4Addr::from(self.first));
        let range = json!({ "subnet": subnet, "rangeStart": at(0), "rangeEnd": at(254) });
        let plugin = json!({ "type": "bridge", "bridge": "pods", "ipam": { "type": "host-local", "ranges": [[range]] } });
        json!({ "cniVersion": "0.4.0", "name": "pods", "plugins": [plugin] })
    }
}

#[derive(Debug)]
pub(crate) struct Network {
    /// The process that keeps the namespace.
    _holder: Leashed,
    holder: u32,
}

impl Network {
    /// Makes it. `cable` is the name of the cable's end on this machine.
    pub fn new(daemons: &Daemons, cable: &str, addresses: Addresses) -> Result<Self> {
        let mut holder = daemons.start("network", None, &["unshare", "--net", "sleep", "infinity"])?;
        let own = fs::read_link("/proc/self/ns/net")?;
        let pid = wait_for("a network namespace", LIMIT, || {
            let pid = holder.process()?.context("unshare has ended")?.pid;
            let namespace = fs::read_link(format!("/proc/{pid}/ns/net")).ok();
            Ok(namespace.is_some_and(|namespace| namespace != own).then_some(pid))
        })?;
        let mut furnish = Command::new("sh");
        furnish.args([
            "-eu",
            "-c",
            include_str!("../scripts/network.sh"),
            "network",
            &pid.to_string(),
            cable,
        ]);
        let nodes = (1..=MOST_NODES).map(|node| addresses.node(node));
        furnish.args(
            [addresses.machine()].into_iter().chain(nodes).map(|address| format!("{address}/{PREFIX}")),
        );
        succeed(&mut furnish)?;
        Ok(Self { _holder: holder, holder: pid })
    }

    /// The file of the namespace.
    pub fn file(&self) -> String {
        format!("/proc/{}/ns/net", self.holder)
    }
}

/// Removes a cable, and its other end. The kernel would do so by itself, some time after the last process.
pub(crate) fn remove(cable: &str) -> Result<()> {
    if !Path::new("/sys/class/net").join(cable).exists() {
        return Ok(());
    }
    let removed = succeed(Command::new("ip").args(["link", "delete", cable]));
    let is_gone = !Path::new("/sys/class/net").join(cable).exists();
    ensure!(is_gone, "{removed:?}");
    Ok(())
}
