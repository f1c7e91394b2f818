//! What administrators ask of slurmctld by svipu.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Result, ensure};
use testbed::{Account, Cluster, Output, wait_until};

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

/// Runs `svipu partition free` as a user does, without the admin socket.
fn free(cluster: &Cluster, user: &Account, partition: &str) -> Result<Output> {
    let program = testbed::programs::find("svipu")?;
    let ipuof = cluster.layout().ipuof();
    let command = cluster.command(&program.to_string_lossy()).account(user);
    command.args(&["partition", "free", partition, "--status", &ipuof.to_string_lossy()]).output()
}

#[test]
fn cli_steering_user_frees_what_is_kept_for_his_job() -> Result<()> {
    quick().vipu_conf("MaxKeep=600").run(|cluster| {
        cluster.expect_log("which is no request about a partition");
        let (owner, other) = (Account::named("nobody")?, Account::named("daemon")?);
        let sbatch = cluster.sbatch_command("exit 3", &["--ipus=16", "--ipu-keep=600s"])?;
        let job = cluster.submit(sbatch.account(&owner))?;
        cluster.await_end(job, LIMIT)?;
        let partition = format!("slurm_{job}");
        let name = format!("vipu_requests.{}", cluster_name(cluster));
        let requests = cluster.layout().ipuof().join(name);
        wait_until("the directory of requests", LIMIT, || Ok(requests.exists()))?;
        ensure!(fs::metadata(&requests)?.permissions().mode() & 0o7777 == 0o1733);

        // A request of another user, and links to a file of the owner, change nothing.
        let target = format!(r#"{{"free":{{"partition":"{partition}"}}}}"#);
        let victim = cluster.layout().root().join("victim");
        fs::write(&victim, &target)?;
        std::os::unix::fs::chown(&victim, Some(owner.uid), None)?;
        fs::hard_link(&victim, requests.join("hard"))?;
        let place = requests.join("theirs");
        let link = cluster.command("ln").account(&other);
        link.args(&["-s", "--", &target, &place.to_string_lossy()]).success()?;
        let is_left = |name: &str| fs::symlink_metadata(requests.join(name)).is_ok();
        wait_until("the end of both files", LIMIT, || Ok(!is_left("hard") && !is_left("theirs")))?;
        ensure!(fs::read_to_string(&victim)? == target);
        ensure!(cluster.mock().partitions()? == [partition.clone()], "it is gone");
        let Output { code, stderr, .. } = free(cluster, &other, &partition)?;
        ensure!(code == 1 && stderr.contains("is of user nobody: only this user can free it"), "{stderr}");

        let Output { code, stdout, stderr, .. } = free(cluster, &owner, &partition)?;
        let freed = format!("{partition} was kept for job {job} and is being removed\n");
        ensure!(code == 0 && stdout == freed, "{code}: {stdout}{stderr}");
        cluster.mock().await_removed(&partition, LIMIT)?;
        let audit = cluster.layout().state().join("vipu_audit.jsonl");
        wait_until("the line of the audit log", LIMIT, || {
            Ok(fs::read_to_string(&audit)?.contains(r#""by":"nobody""#))
        })
    })
}

/// The name of the cluster, as the testbed gives it.
fn cluster_name(cluster: &Cluster) -> String {
    let root = cluster.layout().root();
    root.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
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
