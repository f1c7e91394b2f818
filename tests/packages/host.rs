//! A container in which packages are installed.

use std::{
    env,
    process::{Command, Output, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use testbed::compose;

/// The longest time for a script. Nothing else would end one that hangs.
const LIMIT_SECONDS: &str = "300";

/// All packages, those first that others need.
pub const NAMES: [&str; 5] =
    ["slurm-vipu-login", "slurm-vipu-node", "slurm-vipu-controller", "slurm-vipu-tools", "slurm-vipu-mock"];

/// Words of the scripts below.
const WORDS: &str = r#"
set -eu
plugins=/usr/lib/slurm-vipu
fail() { echo "$*"; exit 1; }
debs() { for name in $names; do echo $1/${name}_*_amd64.deb; done; }
rpms() { for name in $names; do echo $1/$name-[0-9]*.rpm; done; }
# Waits until a command succeeds.
await() {
    end=$(($(date +%s) + 60))
    until timeout 10 sh -c "$1" > /tmp/awaited 2>&1; do
        test $(date +%s) -lt $end || fail "not in 60 s: $1: $(cat /tmp/awaited)"
        sleep 0.2
    done
}
objects() { (cd $plugins && sha256sum *); }
inodes() { stat --format '%n %i' $plugins/* | sort; }
# A daemon that runs keeps the files that it has opened: an upgrade must not write into them.
all_replaced() {
    same=$(inodes | comm -12 /tmp/inodes -)
    test -z "$same" || fail "written over, or not replaced: $same"
}
# Stands for systemd, and writes down what it is asked. rpm 4.20 gives scripts a /tmp of their own.
systemd() {
    mkdir -p /run/systemd/system
    printf '#!/bin/sh\necho "$@" >> /run/asked\n' > /usr/bin/systemctl
}
# Packages have asked systemd to read its units and to end what they remove, and nothing else.
asked() { test "$(sort --unique /run/asked)" = "$1" || fail "$(cat /run/asked)"; }
nothing_left() {
    left=$(find / -xdev \( -name '*vipu*' -o -name '*ipuof*' -o -name slurmd.service.d \) \
        -not -path '/proc/*' -not -path '/usr/local/*')
    test -z "$left" || fail "left after the removal: $left"
}
# Debian 12's rpm changes no system without this option, and later ones do not know it.
force=$(rpm --help | grep --only-matching -- --force-debian || true)
"#;

/// A container. It goes when it is dropped.
pub struct Host {
    id: String,
}

impl Host {
    /// Starts a container with the packages in /packages and the earlier ones in /earlier.
    pub fn start() -> Result<Self> {
        Self::with_packages(&["--init", "--entrypoint=sleep"], &["infinity"])
    }

    /// Starts a container whose first process is systemd.
    pub fn with_systemd() -> Result<Self> {
        let options = [
            "--entrypoint=/lib/systemd/systemd",
            "--env=container=docker",
            "--tmpfs=/run:exec",
            "--cap-add=NET_ADMIN",
        ];
        let cgroups = ["--cgroupns=host", "--volume=/sys/fs/cgroup:/sys/fs/cgroup"];
        let host = Self::with_packages(&[&options[..], &cgroups].concat(), &[])?;
        // Services that the image has not set up have failed then.
        host.run("await 'systemctl is-system-running | grep -E \"running|degraded\"'")?;
        Ok(host)
    }

    fn with_packages(options: &[&str], command: &[&str]) -> Result<Self> {
        let packages = format!("--volume={}:/packages:ro", given("PACKAGES")?);
        let earlier = format!("--volume={}:/earlier:ro", given("EARLIER_PACKAGES")?);
        let image = compose::image_for_packages(&given("SUITE")?);
        // Tests mount a small file system.
        let of_all = ["--network=none", "--cap-add=SYS_ADMIN", &packages, &earlier];
        Self::start_with(&[&of_all[..], options, &[&image], command].concat())
    }

    /// Starts a container with these options, image and command.
    pub fn of(words: &[&str]) -> Result<Self> {
        Self::start_with(&[&["--init"], words].concat())
    }

    fn start_with(words: &[&str]) -> Result<Self> {
        let id = docker(&[&["run", "--detach", "--rm"], words].concat())?;
        Ok(Self { id: id.trim().to_owned() })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Runs a script of sh, up to the first command that fails. Returns what it writes.
    pub fn run(&self, script: &str) -> Result<String> {
        let (status, told) = self.attempt(script)?;
        ensure!(status == Some(0), "{script}\nended with {status:?}: {told}");
        Ok(told)
    }

    /// Runs a command that has to fail, and has to say each of these words.
    pub fn refuses(&self, command: &str, words: &[&str]) -> Result<()> {
        let (status, told) = self.attempt(command)?;
        ensure!(status != Some(0), "{command}\nsucceeded: {told}");
        let missing = words.iter().find(|word| !told.contains(**word));
        ensure!(missing.is_none(), "{command}\ndoes not say {missing:?}: {told}");
        Ok(())
    }

    fn attempt(&self, script: &str) -> Result<(Option<i32>, String)> {
        let script = format!("{WORDS}names='{}'\nexec 2>&1\n{script}", NAMES.join(" "));
        let Output { status, stdout, .. } = Command::new("docker")
            .args(["exec", &self.id, "timeout", LIMIT_SECONDS, "sh", "-c", &script])
            .stdin(Stdio::null())
            .output()?;
        Ok((status.code(), String::from_utf8_lossy(&stdout).into_owned()))
    }
}

/// A variable that `cargo xtask dist` sets for the tests.
pub fn given(variable: &str) -> Result<String> {
    env::var(variable).with_context(|| format!("nothing in {variable}: run `cargo xtask dist --trial`"))
}

/// Runs docker. Returns what it writes.
pub fn docker(words: &[&str]) -> Result<String> {
    let output =
        Command::new("docker").args(words).stdin(Stdio::null()).output().context("cannot run docker")?;
    ensure!(output.status.success(), "docker {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["rm", "--force", "--volumes", &self.id]).output();
    }
}
