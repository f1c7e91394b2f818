//! What administrators ask of slurmctld by svipu.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Result, ensure};
use testbed::{Account, Cluster, Output};

use crate::jobs::{ipus, running, waits};
use crate::{LIMIT, quick};

/// Runs `svipu` with these arguments as this user.
fn svipu(cluster: &Cluster, account: &Account, args: &[&str]) -> Result<Output> {
    let socket = cluster.layout().root().join("run/vipu_admin.socket");
    let program = testbed::programs::find("svipu")?;
    let command = cluster.command(&program.to_string_lossy()).account(account);
    command.args(args).args(&["--socket", &socket.to_string_lossy()]).output()
}

fn steer(cluster: &Cluster, args: &[&str]) -> Result<String> {
    let Output { code, stdout, stderr, .. } = svipu(cluster, &Account::root()?, args)?;
    ensure!(code == 0, "svipu {args:?} ended with {code}: {stdout}{stderr}");
    Ok(stdout)
}

#[test]
fn cli_steering_drain_outlives_slurmctld() -> Result<()> {
    quick().run(|cluster| {
        let before = running(cluster, 16, &[])?;
        let drained = steer(cluster, &["drain", "pod64", "--reason", "new switch"])?;
        ensure!(drained == "drained pod64: new switch; jobs that have IPUs there go on\n", "{drained}");
        let job = ipus(cluster, 16, 60, &[])?;
        let reason = "vipu: pod64 is drained: new switch";
        waits(cluster, job, reason)?;
        cluster.stop_slurmctld()?;
        cluster.start_slurmctld()?;
        let after = ipus(cluster, 16, 60, &[])?;
        waits(cluster, after, reason)?;
        waits(cluster, job, reason)?;
        ensure!(cluster.job(before)?.state == "RUNNING", "the job that was there before does not go on");
        ensure!(steer(cluster, &["resume", "pod64", "--reason", "done"])? == "resumed pod64\n");
        for job in [job, after] {
            cluster.await_state(job, "RUNNING", LIMIT)?;
        }
        crate::let_go(cluster)
    })
}

#[test]
fn cli_steering_frees_a_kept_partition() -> Result<()> {
    quick().vipu_conf("MaxKeep=600").run(|cluster| {
        let job = cluster.sbatch("exit 3", &["--ipus=16", "--ipu-keep=600s"])?;
        cluster.await_end(job, LIMIT)?;
        let partition = format!("slurm_{job}");
        let freed = steer(cluster, &["partition", "free", &partition, "--reason", "looked at"])?;
        ensure!(freed == format!("{partition} was kept for job {job} and is being removed\n"), "{freed}");
        cluster.mock().await_removed(&partition, LIMIT)?;
        Ok(())
    })
}

#[test]
fn cli_steering_is_for_root_and_slurm_user_only() -> Result<()> {
    quick().run(|cluster| {
        steer(cluster, &["reconcile"])?;
        let socket = cluster.layout().root().join("run/vipu_admin.socket");
        ensure!(fs::metadata(&socket)?.permissions().mode() & 0o777 == 0o600);
        // slurmctld itself refuses as well.
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o666))?;
        let Output { code, stderr, .. } = svipu(cluster, &Account::named("nobody")?, &["reconcile"])?;
        ensure!(code == 1 && stderr.contains("only root and SlurmUser may do this"), "{code}: {stderr}");
        Ok(())
    })
}
