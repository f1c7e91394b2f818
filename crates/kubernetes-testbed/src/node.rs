//! A node: a containerd and a kubelet, with a host name, mounts and control groups of their own.

use std::{fs, os::unix::net::UnixStream, path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use testbed::{process::Leashed, wait_until};

use crate::certificates::Authority;
use crate::cluster::Common;
use crate::daemons::{Daemons, succeed};
use crate::network::Network;
use crate::{Image, control_groups};

pub(crate) const MOST_NODES: u8 = 3;

/// containerd's socket in the node's `/run`. The machine has none with this name, which the node would see at first.
const SOCKET: &str = "/run/testbed/containerd.sock";

const LIMIT: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(crate) struct Node {
    name: String,
    number: u8,
    /// The files that it keeps over its death.
    folder: PathBuf,
    containerd: Option<Leashed>,
    kubelet: Option<Leashed>,
}

impl Node {
    /// A node that does not run yet. It is counted from 1.
    pub fn new(number: u8, common: &Common, authority: &Authority) -> Result<Self> {
        let name = format!("node-{number}");
        let folder = common.daemons.folder().join(&name);
        fs::create_dir_all(folder.join("cni"))?;
        let (address, url) = (common.addresses.node(number), common.endpoints.url());
        authority.client(&name, &format!("system:node:{name}"), Some("system:nodes"), address, &url)?;
        control_groups::make(&common.group(&name))?;
        let node = Self { name, number, folder, containerd: None, kubelet: None };
        // It names no server. In place of an empty one, containerd would take that of the machine.
        fs::write(node.folder.join("resolv.conf"), "options attempts:1\n")?;
        fs::write(node.folder.join("kubelet.json"), node.kubelet_configuration(common).to_string())?;
        fs::write(node.folder.join("containerd.toml"), node.containerd_configuration(common))?;
        fs::write(node.folder.join("cni/pods.conflist"), common.addresses.of_pods(number).to_string())?;
        Ok(node)
    }

    /// The YAML of the kubelet, as JSON.
    fn kubelet_configuration(&self, common: &Common) -> Value {
        let file = |suffix: &str| common.daemons.folder().join(format!("{}.{suffix}", self.name));
        json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": common.addresses.node(self.number),
            "readOnlyPort": 0,
            "healthzPort": 0,
            "tlsCertFile": file("crt"),
            "tlsPrivateKeyFile": file("key"),
            "authentication": { "x509": { "clientCAFile": common.daemons.folder().join("ca.crt") } },
            "cgroupRoot": format!("/{}", common.group(&self.name)),
            "failSwapOn": false,
            "makeIPTablesUtilChains": false,
            "resolvConf": self.folder.join("resolv.conf"),
            "nodeStatusUpdateFrequency": "1s",
            "syncFrequency": "2s",
            "imageGCHighThresholdPercent": 100,
            "evictionHard": { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
            // The usual folder is one of this machine.
            "volumePluginDir": "/var/lib/kubelet/volume-plugins",
            // Less than 0 takes CAP_SYS_RESOURCE.
            "oomScoreAdj": 0,
        })
    }

    fn containerd_configuration(&self, common: &Common) -> String {
        format!(
            r#"version = 2
[grpc]
address = "{SOCKET}"
[debug]
level = "warn"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{}"
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{}"
conf_dir = "{}"
"#,
            Image::Busybox.name(),
            common.daemons.programs().join("cni").display(),
            self.folder.join("cni").display(),
        )
    }

    /// Starts containerd. It has the mounts of the node.
    pub fn start_containerd(&mut self, daemons: &Daemons, network: &Network) -> Result<()> {
        let folder = self.folder.display().to_string();
        let namespace = format!("--net={}", network.file());
        let script = include_str!("../scripts/containerd.sh");
        let words =
            ["nsenter", &namespace, "unshare", "--mount", "sh", "-eu", "-c", script, "containerd", &folder];
        self.containerd = Some(daemons.start(&self.log("containerd"), Some(&self.name), &words)?);
        Ok(())
    }

    /// Waits for containerd, and gives it these images.
    pub fn import(&mut self, daemons: &Daemons, images: &[PathBuf]) -> Result<()> {
        let name = self.log("containerd");
        let containerd = self.containerd.as_mut().context("the node is dead")?;
        wait_until(&name, LIMIT, || {
            daemons.check(&name, containerd)?;
            let pid = containerd.process()?.map_or(0, |process| process.pid);
            Ok(UnixStream::connect(format!("/proc/{pid}/root{SOCKET}")).is_ok())
        })?;
        let mark = self.folder.join("imported");
        if mark.exists() {
            return Ok(());
        }
        let target = self.inside()?;
        for image in images {
            let mut import = daemons.command("nsenter");
            import.args([&target, "--mount", "ctr", "--address", SOCKET, "--namespace", "k8s.io"]);
            import.args(["images", "import"]).arg(image);
            succeed(&mut import)?;
        }
        Ok(fs::write(mark, "")?)
    }

    pub fn start_kubelet(&mut self, common: &Common) -> Result<()> {
        let kubeconfig = common.daemons.folder().join(format!("{}.kubeconfig", self.name));
        let words = [
            "nsenter".to_owned(),
            self.inside()?,
            "--mount".into(),
            "--uts".into(),
            "--net".into(),
            "kubelet".into(),
            format!("--config={}", self.folder.join("kubelet.json").display()),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--node-ip={}", common.addresses.node(self.number)),
            "--container-runtime=remote".into(),
            format!("--container-runtime-endpoint=unix://{SOCKET}"),
        ];
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        self.kubelet = Some(common.daemons.start(&self.log("kubelet"), None, &words)?);
        Ok(())
    }

    /// nsenter's option that selects the process of containerd.
    fn inside(&mut self) -> Result<String> {
        let containerd = self.containerd.as_mut().context("the node is dead")?;
        Ok(format!("--target={}", containerd.process()?.context("containerd has ended")?.pid))
    }

    fn log(&self, program: &str) -> String {
        format!("{}.{program}", self.name)
    }

    pub fn is_dead(&self) -> bool {
        self.containerd.is_none()
    }

    pub fn check(&mut self, daemons: &Daemons) -> Result<()> {
        let (containerd, kubelet) = (self.log("containerd"), self.log("kubelet"));
        self.containerd.iter_mut().try_for_each(|daemon| daemons.check(&containerd, daemon))?;
        self.kubelet.iter_mut().try_for_each(|daemon| daemons.check(&kubelet, daemon))
    }

    pub fn kill_kubelet(&mut self) {
        self.kubelet = None;
    }

    /// Kills all processes of the node: kubelet, containerd and containers.
    pub fn kill(&mut self) {
        self.kubelet = None;
        self.containerd = None;
    }
}
