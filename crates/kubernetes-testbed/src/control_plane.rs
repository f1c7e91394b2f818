//! etcd, the API server, the controller manager and the scheduler.

use std::net::Ipv4Addr;

use anyhow::Result;
use testbed::process::Leashed;

use crate::certificates::{Authority, MASTERS};
use crate::daemons::Daemons;

/// Where the control plane listens.
#[derive(Debug)]
pub(crate) struct Endpoints {
    /// The address of the API server.
    pub address: Ipv4Addr,
    pub api: u16,
    /// etcd is at 127.0.0.1.
    pub etcd: u16,
    pub etcd_peer: u16,
}

impl Endpoints {
    pub fn url(&self) -> String {
        format!("https://{}:{}", self.address, self.api)
    }
}

pub(crate) fn write_certificates(authority: &Authority, at: &Endpoints) -> Result<()> {
    authority.sign("apiserver", "kube-apiserver", Some(MASTERS), at.address)?;
    for (name, user, group) in [
        ("admin", "admin", Some(MASTERS)),
        ("controller-manager", "system:kube-controller-manager", None),
        ("scheduler", "system:kube-scheduler", None),
    ] {
        authority.client(name, user, group, at.address, &at.url())?;
    }
    Ok(())
}

/// A daemon with the name of its log.
pub(crate) type Named = (&'static str, Leashed);

/// Starts etcd and the API server. Without a controller manager there are no service accounts.
pub(crate) fn start_api(
    daemons: &Daemons,
    at: &Endpoints,
    services: &str,
    accounts: bool,
) -> Result<[Named; 2]> {
    let file = |option: &str, name: &str| format!("--{option}={}", daemons.folder().join(name).display());
    let loopback = |port: u16| format!("https://127.0.0.1:{port}");
    let mut etcd = vec![
        "etcd".to_owned(),
        file("data-dir", "etcd"),
        format!("--listen-client-urls={}", loopback(at.etcd)),
        format!("--advertise-client-urls={}", loopback(at.etcd)),
        format!("--listen-peer-urls={}", loopback(at.etcd_peer)),
        format!("--initial-advertise-peer-urls={}", loopback(at.etcd_peer)),
        format!("--initial-cluster=default={}", loopback(at.etcd_peer)),
        "--log-level=warn".into(),
        "--logger=zap".into(),
    ];
    // Without a certificate, any user of this machine could give itself a privileged Pod.
    for of in ["", "peer-"] {
        etcd.extend([
            file(&format!("{of}cert-file"), "apiserver.crt"),
            file(&format!("{of}key-file"), "apiserver.key"),
            file(&format!("{of}trusted-ca-file"), "ca.crt"),
            format!("--{of}client-cert-auth"),
        ]);
    }
    let mut apiserver = vec![
        "kube-apiserver".to_owned(),
        format!("--bind-address={}", at.address),
        format!("--advertise-address={}", at.address),
        format!("--secure-port={}", at.api),
        // The API server is no endpoint of a service: endpoints may not be at a loopback address.
        "--endpoint-reconciler-type=none".into(),
        format!("--etcd-servers={}", loopback(at.etcd)),
        file("etcd-cafile", "ca.crt"),
        file("etcd-certfile", "apiserver.crt"),
        file("etcd-keyfile", "apiserver.key"),
        file("tls-cert-file", "apiserver.crt"),
        file("tls-private-key-file", "apiserver.key"),
        file("client-ca-file", "ca.crt"),
        file("kubelet-certificate-authority", "ca.crt"),
        file("kubelet-client-certificate", "apiserver.crt"),
        file("kubelet-client-key", "apiserver.key"),
        // A node's name would be looked up by DNS.
        "--kubelet-preferred-address-types=InternalIP".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        file("service-account-signing-key-file", "tokens.key"),
        file("service-account-key-file", "tokens.pub"),
        format!("--service-cluster-ip-range={services}"),
        "--authorization-mode=Node,RBAC".into(),
        "--enable-admission-plugins=NodeRestriction".into(),
        "--allow-privileged=true".into(),
        "--profiling=false".into(),
    ];
    if !accounts {
        // It would refuse each Pod.
        apiserver.push("--disable-admission-plugins=ServiceAccount".into());
    }
    Ok([start(daemons, "etcd", &etcd)?, start(daemons, "kube-apiserver", &apiserver)?])
}

/// Starts the controller manager and the scheduler. A node that reports no more is lost after six seconds.
pub(crate) fn start_controllers(daemons: &Daemons) -> Result<[Named; 2]> {
    let file = |option: &str, name: &str| format!("--{option}={}", daemons.folder().join(name).display());
    let manager = [
        "kube-controller-manager".to_owned(),
        file("kubeconfig", "controller-manager.kubeconfig"),
        "--leader-elect=false".into(),
        "--port=0".into(),
        "--secure-port=0".into(),
        file("service-account-private-key-file", "tokens.key"),
        file("root-ca-file", "ca.crt"),
        // Otherwise the garbage collector may not delete.
        "--use-service-account-credentials=true".into(),
        "--node-monitor-period=1s".into(),
        "--node-monitor-grace-period=6s".into(),
    ];
    let scheduler = [
        "kube-scheduler".to_owned(),
        file("kubeconfig", "scheduler.kubeconfig"),
        "--leader-elect=false".into(),
        "--port=0".into(),
        "--secure-port=0".into(),
    ];
    Ok([start(daemons, "kube-controller-manager", &manager)?, start(daemons, "kube-scheduler", &scheduler)?])
}

fn start(daemons: &Daemons, name: &'static str, words: &[String]) -> Result<Named> {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    Ok((name, daemons.start(name, None, &words)?))
}
