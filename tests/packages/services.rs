//! The commands of the pages about packages and services, on a host that systemd runs.

use anyhow::{Result, ensure};

use crate::host::Host;

const INSTALL: &str = include_str!("../../docs/real-cluster.md");
const MONITORING: &str = include_str!("../../docs/monitoring.md");
const RELEASES: &str = include_str!("../../docs/releases.md");
const LEAVING: &str = include_str!("../../docs/leaving.md");

/// Words of the scripts below. apt asks no questions.
const WORDS: &str = r#"
export DEBIAN_FRONTEND=noninteractive APT_CONFIG=/tmp/apt.conf
echo 'APT::Get::Assume-Yes "true";' > $APT_CONFIG
"#;

/// Starts Slurm without slurm-vipu.
const STOCK: &str = r#"
    head --bytes=1024 /dev/urandom > /etc/munge/munge.key
    chown munge /etc/munge/munge.key
    chmod 400 /etc/munge/munge.key
    install -d -o slurm -g slurm -m 0750 /var/spool/slurmctld
    # Slurm looks for no address if the host has none beside 127.0.0.1.
    ip address add 192.0.2.1/32 dev lo
    echo "192.0.2.1 $(hostname)" >> /etc/hosts
    cat > /etc/slurm/slurm.conf <<END
ClusterName=ipu
SlurmctldHost=$(hostname)
SlurmUser=slurm
StateSaveLocation=/var/spool/slurmctld
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
NodeName=$(hostname)
PartitionName=main Nodes=ALL Default=YES
END
    systemctl restart munge slurmctld slurmd
    await 'srun hostname'
"#;

/// Starts a controller.
const MOCK: &str =
    "dpkg --install /packages/slurm-vipu-mock_*.deb && systemd-run --unit=mock mock-vipu-server";

/// Takes over the lines that `svipu conf generate` has written.
const LINES: &str = r#"
    sed --in-place /^NodeName/d /etc/slurm/slurm.conf
    cat /root/new/slurm.conf.add >> /etc/slurm/slurm.conf
    cat /root/new/plugstack.conf.add >> /etc/slurm/plugstack.conf
"#;

/// What an administrator tries then.
const CHECK: &str = "svipu doctor && svipu drain pod64 --reason test && svipu resume pod64 --reason test";

/// The code of a page that begins with `words`, as a script.
fn commands(page: &str, words: &str) -> Result<String> {
    let found: Vec<_> = testbed::page::code(page).filter(|line| line.starts_with(words)).collect();
    ensure!(!found.is_empty(), "the page has no '{words}'");
    Ok(found.join("\n"))
}

/// Runs scripts of sh, one after the other, beginning in the folder of the packages.
fn run(host: &Host, scripts: &[&str]) -> Result<String> {
    host.run(&format!("{WORDS}cd /packages\n{}", scripts.join("\n")))
}

#[test]
fn pkg_pages_install_run_and_purge_under_systemd() -> Result<()> {
    let host = Host::with_systemd()?;
    let step = |words| commands(INSTALL, words);
    run(&host, &[STOCK, &step("apt install ./")?, "srun hostname", MOCK])?;
    let generate = step("svipu conf generate")?
        .replace("vipu-controller.example.org", "localhost")
        .replace("'ipu-[1-4]'", "$(hostname)");
    run(&host, &[&step("install -d")?, &format!("await \"{generate}\"")])?;
    run(&host, &[&step("cp ")?, &step("echo")?, &step("svipu conf check")?, LINES])?;
    run(&host, &[&step("systemctl stop")?, &step("systemctl restart")?, &step("systemctl start")?])?;
    run(&host, &[&format!("await '{}'", step("srun --ipus=1")?), CHECK])?;
    exporter(&host)?;
    other_versions(&host)?;
    let disable = commands(LEAVING, "systemctl disable")?;
    let purged = "test -z \"$(dpkg-query --show --showformat '${Package}\\n' 'slurm-vipu-*' 2>/dev/null)\"";
    run(&host, &[&disable, &commands(LEAVING, "apt purge")?, purged]).map(drop)
}

/// Docker on some kernels has no user namespaces, which the unit uses.
const IN_CONTAINER: &str = r#"
    mkdir /etc/systemd/system/vipu-exporter.service.d
    printf '[Service]\nPrivateUsers=no\n' > /etc/systemd/system/vipu-exporter.service.d/container.conf
"#;

/// Starts the exporter with the unit's own address, and with that of a drop-in file.
fn exporter(host: &Host) -> Result<()> {
    let asked = commands(INSTALL, "curl")?.replace("curl", "curl --fail").replace("# answers 200", "");
    run(host, &[IN_CONTAINER, &commands(INSTALL, "systemctl enable")?, &format!("await '{asked}'")])?;
    let lines = ["[Service]", "ExecStart=", "SupplementaryGroups="];
    let lines =
        lines.map(|words| commands(MONITORING, words)).into_iter().collect::<Result<Vec<_>>>()?.join("\n");
    let lines = lines
        .replace("STATESAVELOCATION", "/var/spool/slurmctld")
        .replace("10.1.0.5:9877", "127.0.0.1:9878")
        .replace("GROUP", "slurm");
    let unit = "/etc/systemd/system/vipu-exporter.service.d";
    let drop_in = format!("cat > {unit}/override.conf <<END\n{lines}\nEND\nsystemctl daemon-reload");
    let asked = asked.replace("9877", "9878");
    run(
        host,
        &[&drop_in, &commands(RELEASES, "systemctl restart vipu-exporter")?, &format!("await '{asked}'")],
    )
    .map(drop)
}

/// Installs a version again, goes back to an earlier one, and upgrades.
fn other_versions(host: &Host) -> Result<()> {
    let reinstall = commands(LEAVING, "apt install --reinstall")?;
    run(host, &["rm $plugins/select_vipu.so", &reinstall, "test -e $plugins/select_vipu.so"])?;
    let downgrade = commands(RELEASES, "apt install --allow-downgrades")?.replace("NAME_VERSION", "*");
    let is_earlier = "dpkg-query --show slurm-vipu-login | grep '0\\.0\\.9$'";
    run(host, &["cd /earlier", &downgrade, is_earlier])?;
    let upgrade = format!("apt install ./*.deb; ! {is_earlier} || fail older; systemctl restart slurmctld");
    run(host, &[&upgrade, "await 'srun --ipus=1 hostname'"]).map(drop)
}
