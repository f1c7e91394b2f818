//! A running cluster.

use std::{io::Write as _, net::Ipv4Addr, path::PathBuf, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, ensure};
use nix::unistd::Uid;
use serde_json::{Value, json};
use tempfile::TempDir;
use testbed::{Ports, wait_until};

use crate::certificates::Authority;
use crate::control_plane::{self, Endpoints, Named};
use crate::daemons::{Daemons, succeed};
use crate::network::{self, Addresses, Network};
use crate::node::{MOST_NODES, Node};
use crate::{Image, control_groups, programs};

const LIMIT: Duration = Duration::from_secs(120);

/// The port of the service of the API server.
const SERVICE_PORT: u16 = 443;

/// What a cluster has.
#[derive(Clone, Debug)]
pub struct Settings {
    nodes: u8,
    images: Vec<Image>,
}

impl Settings {
    /// etcd and the API server alone. No Pod runs, and no controller of Kubernetes.
    pub fn api_only() -> Self {
        Self { nodes: 0, images: Vec::new() }
    }

    /// A whole cluster with one to three nodes: `node-1` and so on.
    pub fn nodes(number: u8) -> Self {
        Self { nodes: number, images: vec![Image::Busybox] }
    }

    /// Gives the nodes this image, too.
    pub fn image(mut self, image: Image) -> Self {
        self.images.push(image);
        self
    }

    /// Starts the cluster, and waits until the API server and all nodes are ready. Shows the ends of the logs if it fails.
    pub fn up(&self) -> Result<Cluster> {
        ensure!(self.nodes <= MOST_NODES, "a cluster has {MOST_NODES} nodes at most");
        ensure!(Uid::effective().is_root(), "a Kubernetes cluster takes root");
        ensure!(
            self.nodes == 0 || may_have_nodes(),
            "this machine has no control groups of version 1, and kubelets of this release were tried with no others"
        );
        let mut cluster = Cluster::new()?;
        let started = cluster.start(self);
        if started.is_err() {
            cluster.common.daemons.show_logs();
        }
        started?;
        Ok(cluster)
    }

    /// Runs a test on such a cluster. Shows the ends of the logs if it fails.
    pub fn run(&self, test: impl FnOnce(&mut Cluster) -> Result<()>) -> Result<()> {
        let mut cluster = self.up()?;
        let tested = test(&mut cluster);
        if tested.is_err() {
            cluster.common.daemons.show_logs();
        }
        tested.and(cluster.down())
    }
}

/// Whether this machine has what a kubelet needs: control groups of version 1.
pub fn may_have_nodes() -> bool {
    !control_groups::hierarchies().is_empty()
}

/// What the parts of a cluster know of it.
#[derive(Debug)]
pub(crate) struct Common {
    /// The name, which no other cluster has at this time.
    name: String,
    pub daemons: Daemons,
    pub endpoints: Endpoints,
    pub addresses: Addresses,
}

impl Common {
    /// The name of a node's control groups.
    pub fn group(&self, node: &str) -> String {
        format!("{}-{node}", self.name)
    }
}

#[derive(Debug)]
pub struct Cluster {
    common: Common,
    control_plane: Vec<Named>,
    nodes: Vec<Node>,
    network: Option<Network>,
    _ports: Ports,
    folder: Option<TempDir>,
}

impl Cluster {
    fn new() -> Result<Self> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("vipu-kubernetes-").tempdir()?;
        let mut ports = Ports::reserve()?;
        let addresses = Addresses::new(ports.number());
        let endpoints = Endpoints {
            address: Ipv4Addr::LOCALHOST,
            api: ports.take()?,
            etcd: ports.take()?,
            etcd_peer: ports.take()?,
        };
        let daemons = Daemons::new(folder.path(), &programs)?;
        let common = Common { name: format!("vipu-k8s-{}", ports.number()), daemons, endpoints, addresses };
        let (control_plane, nodes) = (Vec::new(), Vec::new());
        Ok(Self { common, control_plane, nodes, network: None, _ports: ports, folder: Some(folder) })
    }

    fn start(&mut self, settings: &Settings) -> Result<()> {
        let images = settings.images.iter().map(|image| image.archive()).collect::<Result<Vec<_>>>()?;
        // A cluster with this name that was killed has left its groups.
        self.sweep()?;
        let has_nodes = settings.nodes > 0;
        if has_nodes {
            let Common { name, daemons, endpoints, addresses } = &mut self.common;
            (endpoints.address, endpoints.api) = (addresses.machine(), SERVICE_PORT);
            self.network = Some(Network::new(daemons, name, *addresses)?);
        }
        let Common { daemons, endpoints, addresses, .. } = &self.common;
        let authority = Authority::new(daemons.folder())?;
        control_plane::write_certificates(&authority, endpoints)?;
        self.control_plane.extend(control_plane::start_api(
            daemons,
            endpoints,
            &addresses.of_services(),
            has_nodes,
        )?);
        for number in 1..=settings.nodes {
            self.nodes.push(Node::new(number, &self.common, &authority)?);
        }
        if let Some(network) = &self.network {
            self.nodes.iter_mut().try_for_each(|node| node.start_containerd(daemons, network))?;
            self.nodes.iter_mut().try_for_each(|node| node.import(daemons, &images))?;
        }
        self.await_condition("the API server to be ready", |cluster| {
            Ok(cluster.kubectl(&["get", "--raw=/readyz"]).is_ok_and(|answer| answer == "ok"))
        })?;
        if has_nodes {
            self.control_plane.extend(control_plane::start_controllers(&self.common.daemons)?);
            self.nodes.iter_mut().try_for_each(|node| node.start_kubelet(&self.common))?;
            (1..=settings.nodes).try_for_each(|node| self.await_node(node, true))?;
            self.await_account("default")?;
        }
        Ok(())
    }

    /// The name of its link on this machine, with which those of its control groups begin.
    pub fn name(&self) -> &str {
        &self.common.name
    }

    /// The file for `KUBECONFIG`, of an administrator of the cluster.
    pub fn kubeconfig(&self) -> PathBuf {
        self.common.daemons.folder().join("admin.kubeconfig")
    }

    /// The program kubectl, of the cluster's release.
    pub fn kubectl_program(&self) -> PathBuf {
        self.common.daemons.programs().join("kubectl")
    }

    /// The output of kubectl.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let mut kubectl = self.common.daemons.command("kubectl");
        succeed(kubectl.env("KUBECONFIG", self.kubeconfig()).args(arguments))
    }

    /// What the API server answers at a path, as in `/api/v1/nodes`.
    pub fn get(&self, path: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.kubectl(&["get", "--raw", path])?)?)
    }

    /// Makes an object.
    pub fn create(&self, object: &Value) -> Result<()> {
        let mut kubectl = self.common.daemons.command("kubectl");
        kubectl.env("KUBECONFIG", self.kubeconfig()).args(["create", "--filename=-"]);
        let mut kubectl = kubectl.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let mut stdin = kubectl.stdin.take().context("kubectl has no input")?;
        stdin.write_all(object.to_string().as_bytes())?;
        drop(stdin);
        ensure!(kubectl.wait()?.success(), "kubectl cannot create {object}");
        Ok(())
    }

    /// Makes a namespace. In a cluster with nodes, waits until Pods may be made in it.
    pub fn create_namespace(&mut self, name: &str) -> Result<()> {
        self.create(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }))?;
        if self.nodes.is_empty() { Ok(()) } else { self.await_account(name) }
    }

    /// Waits until the service account of a namespace has its token: before, Pods are refused.
    fn await_account(&mut self, namespace: &str) -> Result<()> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
        self.await_condition(&format!("the service account of {namespace}"), |cluster| {
            Ok(cluster.get(&path).is_ok_and(|account| account["secrets"][0].is_object()))
        })
    }

    /// Waits until a node, counted from 1, is ready, or is not.
    pub fn await_node(&mut self, number: u8, is_ready: bool) -> Result<()> {
        let what = format!("node-{number} to be {}", if is_ready { "ready" } else { "lost" });
        self.await_condition(&what, |cluster| {
            let Ok(node) = cluster.get(&format!("/api/v1/nodes/node-{number}")) else { return Ok(false) };
            let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let mut ready = conditions.iter().filter(|condition| condition["type"] == "Ready");
            Ok(ready.any(|condition| (condition["status"] == "True") == is_ready))
        })
    }

    /// Waits until a Pod is in this phase.
    pub fn await_pod(&mut self, namespace: &str, name: &str, phase: &str) -> Result<()> {
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
        self.await_condition(&format!("Pod {name} to be {phase}"), |cluster| {
            Ok(cluster.get(&path)?["status"]["phase"] == phase)
        })
    }

    /// Waits for a condition while all daemons run.
    pub fn await_condition(&mut self, what: &str, holds: impl Fn(&Self) -> Result<bool>) -> Result<()> {
        wait_until(what, LIMIT, || {
            let Self { common: Common { daemons, .. }, control_plane, nodes, .. } = self;
            control_plane.iter_mut().try_for_each(|(name, daemon)| daemons.check(name, daemon))?;
            nodes.iter_mut().try_for_each(|node| node.check(daemons))?;
            holds(self)
        })
    }

    /// Kills the kubelet of a node, counted from 1. Its Pods run on.
    pub fn kill_kubelet(&mut self, node: u8) -> Result<()> {
        numbered(&mut self.nodes, node)?.kill_kubelet();
        Ok(())
    }

    /// Kills all processes of a node, counted from 1, also those of its Pods.
    pub fn kill_node(&mut self, node: u8) -> Result<()> {
        numbered(&mut self.nodes, node)?.kill();
        Ok(())
    }

    /// Starts a node again after [`Cluster::kill_kubelet`] or [`Cluster::kill_node`], and waits until it is ready.
    pub fn return_node(&mut self, number: u8) -> Result<()> {
        let Self { common, nodes, network, .. } = self;
        let network = network.as_ref().context("this cluster has no nodes")?;
        let node = numbered(nodes, number)?;
        if node.is_dead() {
            node.start_containerd(&common.daemons, network)?;
            node.import(&common.daemons, &[])?;
        }
        node.start_kubelet(common)?;
        self.await_node(number, true)
    }

    /// Ends the cluster. Leaves nothing of it.
    pub fn down(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        // A kubelet would start again what ends before it.
        self.nodes.iter_mut().for_each(Node::kill_kubelet);
        self.nodes.clear();
        self.control_plane.clear();
        self.network = None;
        self.sweep()?;
        self.folder.take().map_or(Ok(()), TempDir::close).context("cannot remove the folder of the cluster")
    }

    /// Removes what no process keeps.
    fn sweep(&self) -> Result<()> {
        control_groups::remove(&self.common.group(""))?;
        network::remove(&self.common.name)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("a Kubernetes cluster left something: {error:#}");
        }
    }
}

/// The node with this number, counted from 1.
fn numbered(nodes: &mut [Node], number: u8) -> Result<&mut Node> {
    let node = usize::from(number).checked_sub(1).and_then(|index| nodes.get_mut(index));
    node.with_context(|| format!("there is no node-{number}"))
}
