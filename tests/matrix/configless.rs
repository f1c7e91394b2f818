//! Nodes without configuration files: slurmctld sends them.

use anyhow::{Result, ensure};
use testbed::{
    Account,
    compose::{Cluster, Host, NODES},
    main_job::{SHOW, Shown, batch_ended, sbatch, srun},
    wait_until,
};

use crate::{LIMIT, partition, quick};

#[test]
fn pkg_configless_nodes() -> Result<()> {
    // The containers look whether slurmctld listens, before they start slurmd.
    let settings = quick().configless().expect_log("Zero Bytes were transmitted or received");
    settings.run_in_containers(|cluster| {
        for name in NODES {
            let files = shell(&cluster.host(name)?, "ls -A /etc/slurm")?;
            ensure!(files.is_empty(), "{name} has in /etc/slurm: {files}");
        }
        sbatch(cluster, 16)?;
        srun(cluster, 4)?;
        by_option(cluster)?;
        is_healthy(cluster)?;
        fetch_on_nodes(cluster)?;
        let job = cluster.sbatch(SHOW, &["--gres=vipu:pod64:16"])?;
        cluster.await_end(job, LIMIT)?;
        let shown = Shown::parse(&cluster.job_output(job))?;
        shown.check(&partition(job), 16)?;
        let path = &shown.environment["IPUOF_CONFIG_PATH"];
        ensure!(path.starts_with("/run/slurm-vipu/"), "the file is {path}");
        is_healthy(cluster)
    })
}

/// Requests IPUs by the option of spank_ipuof.so.
fn by_option(cluster: &Cluster) -> Result<()> {
    let job = cluster.sbatch(SHOW, &["--ipus=8"])?;
    batch_ended(cluster, job, 8).map(drop)
}

/// Checks that `svipu doctor` finds the files that slurmctld sent to a node, and nothing wrong.
fn is_healthy(cluster: &Cluster) -> Result<()> {
    let node = cluster.host(NODES[0])?;
    let doctor = node.command("/opt/vipu/bin/svipu", &Account::root()?).args(&["doctor"]).output()?;
    let place = format!("{}: node with IPUs, /run/slurm/conf/slurm.conf", NODES[0]);
    ensure!(doctor.stdout.starts_with(&place) && doctor.code == 0, "{doctor:?}");
    Ok(())
}

/// Changes the files on slurmctld's host to Delivery=node. Nodes then need vipu.conf in a folder of their own.
fn fetch_on_nodes(cluster: &Cluster) -> Result<()> {
    let slurmctld = cluster.host("slurmctld")?;
    // In place of links to files that cannot be written.
    let written = "cd /etc/slurm && echo 'required spank_ipuof.so conf_dir=/etc/vipu' > plugstack.new && \
                   echo 'ApiHost=vipu\nDelivery=node' > vipu.new && \
                   mv plugstack.new plugstack.conf && mv vipu.new vipu.conf && cat vipu.conf";
    let vipu_conf = shell(&slurmctld, written)?;
    for name in NODES {
        shell(&cluster.host(name)?, &format!("mkdir /etc/vipu && echo '{vipu_conf}' > /etc/vipu/vipu.conf"))?;
    }
    cluster.reconfigure()?;
    for name in NODES {
        let node = cluster.host(name)?;
        wait_until(&format!("{name} to have the new plugstack.conf"), LIMIT, || {
            Ok(shell(&node, "cat /run/slurm/conf/plugstack.conf")?.contains("conf_dir=/etc/vipu"))
        })?;
    }
    Ok(())
}

fn shell(host: &Host, words: &str) -> Result<String> {
    Ok(host.command("sh", &Account::root()?).args(&["-c", words]).success()?.stdout)
}
