//! Installs the packages in containers of each Debian suite, and removes them.

use std::{path::Path, process::Command};

use anyhow::Result;
use clap::ValueEnum as _;
use testbed::say;

use super::contents::PACKAGES;
use crate::image::{self, Suite};
use crate::run;

/// Fails at the first line that does not hold. `$PACKAGES` has the names.
const SCRIPT: &str = r#"
set -eu
cd /packages
slurm=/usr/lib/x86_64-linux-gnu/slurm-wlm
sha256sum --quiet --check SHA256SUMS
dpkg --install $(for name in $PACKAGES; do echo ${name}_*.deb; done) > /tmp/said
for name in $PACKAGES; do grep -q "^$name: " /tmp/said || { echo "$name says no next step"; exit 1; }; done
# Slurm finds each plugin in its own directory, and each object finds its libraries.
for file in select_vipu spank_ipuof gres_vipu job_submit_vipu vipu_slurmctld; do
    test -s $slurm/$file.so
    if ldd $slurm/$file.so | grep 'not found'; then echo "$file.so lacks a library"; exit 1; fi
done
svipu --version
mock-vipu-server --help > /tmp/help
man=$(zcat /usr/share/man/man1/svipu.1.gz | head -c 100); test -n "$man"
# An upgrade has nothing new to say.
dpkg --install $(for name in $PACKAGES; do echo ${name}_*.deb; done) > /tmp/again
if grep '^slurm-vipu-[a-z]*: ' /tmp/again; then echo 'an upgrade tells a next step'; exit 1; fi
dpkg --purge $PACKAGES > /tmp/purged
left=$(find /usr/lib /usr/bin /usr/share /etc /var/lib -name '*vipu*' -o -name '*ipuof*' | grep -v /var/lib/dpkg || true)
test -z "$left" || { echo "left after the removal: $left"; exit 1; }
"#;

/// Tries the packages in `out` on each suite.
pub fn run(out: &Path) -> Result<()> {
    let packages: Vec<_> = PACKAGES.iter().map(|package| package.name).collect();
    for suite in Suite::value_variants() {
        image::build(*suite, image::MIRROR)?;
        let mut docker = Command::new("docker");
        docker.args(["run", "--rm", "--network", "none", "--entrypoint", "sh"]);
        docker.arg("--volume").arg(format!("{}:/packages:ro", out.canonicalize()?.display()));
        docker.arg("--env").arg(format!("PACKAGES={}", packages.join(" ")));
        docker.args([&*suite.image(), "-c", SCRIPT]);
        run::visibly(docker)?;
        say(format!("{}: the packages can be installed, installed again and removed", suite.name()));
    }
    Ok(())
}
