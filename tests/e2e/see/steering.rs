//! What administrators ask of slurmctld by svipu.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use testbed::{Account, Cluster, Output, process::Process, wait_until};
use vipu_status::Ipus;

use super::document;
use crate::jobs::{ipus, logged, running, waits};
use crate::{LIMIT, quick};

/// The socket without `AdminSocket=`.
fn usual_socket(cluster: &Cluster) -> PathBuf {
    cluster.layout().root().join("run/vipu_admin.socket")
}

/// Runs `svipu` with these arguments as this user.
pub(crate) fn svipu(cluster: &Cluster, account: &Account, args: &[&str]) -> Result<Output> {
    let program = testbed::programs::find("svipu")?;
    cluster.command(&program.to_string_lossy()).account(account).args(args).output()
}

pub(crate) fn steer(cluster: &Cluster, args: &[&str]) -> Result<String> {
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
        wait_until("drained IPUs and the version in the status document", LIMIT, || {
            let Some(status) = document(cluster)? else { return Ok(false) };
            let pod = &status.models[0].pods[0];
            let expected = Ipus { total: 64, used: 16, drained: 48, ..Ipus::default() };
            Ok(pod.ipus == expected && pod.version.as_deref() == Some("1.18.0"))
        })?;
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
fn cli_steering_user_frees_what_is_kept_for_his_job() -> Result<()> {
    quick().vipu_conf("MaxKeep=600").run(|cluster| {
        cluster.stop_slurmctld()?;
        let name = cluster.layout().root().file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let of_earlier_version = cluster.layout().ipuof().join(format!("vipu_requests.{name}"));
        fs::create_dir(&of_earlier_version)?;
        let slurm_user = fs::metadata(cluster.layout().ipuof())?.uid();
        std::os::unix::fs::chown(&of_earlier_version, Some(slurm_user), None)?;
        std::os::unix::fs::symlink("{}", of_earlier_version.join("request"))?;
        cluster.start_slurmctld()?;

        let (owner, other) = (Account::named("nobody")?, Account::named("daemon")?);
        let sbatch = cluster.sbatch_command("exit 3", &["--ipus=16", "--ipu-keep=600s"])?;
        let job = cluster.submit(sbatch.account(&owner))?;
        let partition = format!("slurm_{job}");
        logged(cluster, &format!("partition {partition} is kept until"))?;
        let free = |user: &Account| {
            svipu(cluster, user, &["partition", "free", &partition, "--reason", "seen, 100%"])
        };
        let Output { code, stdout, stderr, .. } = free(&other)?;
        let refusal = format!(
            "svipu: partition {partition} is unknown, or of another user: `svipu --me partitions` lists yours\n"
        );
        ensure!(code == 1 && stdout.is_empty() && stderr == refusal, "{code}: {stdout}{stderr}");
        ensure!(cluster.mock().partitions()? == [partition.clone()], "it is gone");

        let Output { code, stdout, stderr, .. } = free(&owner)?;
        let freed = format!("{partition} was kept for job {job} and is being removed\n");
        ensure!(code == 0 && stdout == freed, "{code}: {stdout}{stderr}");
        cluster.mock().await_removed(&partition, LIMIT)?;
        let by_hand = cluster.command("sbatch").account(&owner);
        let Output { code, stderr, .. } =
            by_hand.args(&[&format!("--gres=vipu:free.{partition}"), "--wrap=true"]).output()?;
        let is_answer = ["is unknown", "is being removed already"].iter().any(|words| stderr.contains(words));
        ensure!(code == 1 && is_answer, "{code}: {stderr}");
        ensure!(cluster.jobs()?.iter().all(|it| it.id == job), "a request became a job");
        logged(cluster, &format!("its user {} wants it (seen, 100%)", owner.uid))?;
        let audit = cluster.layout().state().join("vipu_audit.jsonl");
        wait_until("the line of the audit log", LIMIT, || {
            Ok(fs::read_to_string(&audit)?.contains(&format!(r#""by":"{}""#, owner.uid)))
        })?;
        wait_until("the end of the earlier directory", LIMIT, || Ok(!of_earlier_version.exists()))
    })
}

#[test]
fn cli_steering_is_for_root_and_slurm_user_only() -> Result<()> {
    quick().run(|cluster| {
        steer(cluster, &["reconcile"])?;
        let socket = usual_socket(cluster);
        ensure!(fs::metadata(&socket)?.permissions().mode() & 0o777 == 0o600);
        // slurmctld itself refuses as well.
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o666))?;
        let Output { code, stderr, .. } = svipu(cluster, &Account::named("nobody")?, &["reconcile"])?;
        ensure!(code == 1 && stderr.contains("only root and SlurmUser may do this"), "{code}: {stderr}");
        Ok(())
    })
}

/// Waits until svipu finds the socket by itself and slurmctld answers on it.
fn await_answer(cluster: &Cluster) -> Result<()> {
    wait_until("an answer on the admin socket", LIMIT, || {
        Ok(svipu(cluster, &Account::root()?, &["reconcile"])?.code == 0)
    })
}

/// Writes a vipu.conf with this line, has slurmctld read it, and waits until `is_done`.
fn reconfigured(cluster: &Cluster, line: &str, is_done: impl Fn() -> bool) -> Result<()> {
    cluster.write_vipu_conf(&[line])?;
    cluster.reconfigure()?;
    wait_until(&format!("{line} to be in use"), LIMIT, || Ok(is_done()))?;
    // From 23.11 on no process listens on any socket for a moment.
    cluster.await_slurmctld()
}

/// Whether a process listens. From 23.11 on a reconfigure starts a new slurmctld, and the file of the old one stays.
fn is_served(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

#[test]
fn cli_steering_socket_follows_reconfigure() -> Result<()> {
    quick().run(|cluster| {
        await_answer(cluster)?;
        cluster.reconfigure()?;
        await_answer(cluster)?;
        let (usual, own) = (usual_socket(cluster), cluster.layout().root().join("run/own.socket"));
        reconfigured(cluster, &format!("AdminSocket={}", own.display()), || {
            is_served(&own) && !is_served(&usual)
        })?;
        await_answer(cluster)?;
        reconfigured(cluster, "AdminSocket=none", || !is_served(&own))?;
        let Output { code, stderr, .. } = svipu(cluster, &Account::root()?, &["reconcile"])?;
        ensure!(code == 1 && stderr.contains("says AdminSocket=none"), "{code}: {stderr}");
        reconfigured(cluster, "", || is_served(&usual))?;
        await_answer(cluster)
    })
}

#[test]
fn cli_steering_socket_comes_back() -> Result<()> {
    quick().expect_log("no administrator can use").run(|cluster| {
        let socket = usual_socket(cluster);
        await_answer(cluster)?;
        cluster.kill_slurmctld()?;
        ensure!(socket.exists(), "a killed process cannot remove its socket");
        let Output { code, stderr, .. } = svipu(cluster, &Account::root()?, &["reconcile"])?;
        ensure!(code == 1 && stderr.contains("on the host of the slurmctld in charge"), "{code}: {stderr}");
        cluster.start_slurmctld()?;
        await_answer(cluster)?;
        // A program that clears old files may have removed it.
        fs::remove_file(&socket)?;
        await_answer(cluster)?;

        let closed = cluster.layout().root().join("closed");
        fs::create_dir(&closed)?;
        cluster.write_vipu_conf(&[&format!("AdminSocket={}/socket", closed.display())])?;
        cluster.reconfigure()?;
        let told = format!(
            "no administrator can use {}/socket: cannot make it: Permission denied (os error 13); let SlurmUser write \
             in its directory, or set AdminSocket= in vipu.conf to another path and reconfigure",
            closed.display()
        );
        logged(cluster, &told)?;
        // As advised.
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o777))?;
        await_answer(cluster)?;
        ensure!(cluster.slurmctld_log().matches(&told).count() == 1, "the advice is repeated");
        Ok(())
    })
}

/// Waits until administrators reach the slurmctld in charge, and the other one has no socket.
fn only_one_serves(cluster: &Cluster, in_charge: Process, others: &[Process], socket: &Path) -> Result<()> {
    wait_until("one admin socket", LIMIT, || {
        let is_idle = |other: &Process| Ok::<_, std::io::Error>(!other.listens_at(socket)?);
        let are_idle = others.iter().map(is_idle).collect::<Result<Vec<_>, _>>()?;
        Ok(in_charge.listens_at(socket)? && are_idle.into_iter().all(|idle| idle))
    })?;
    // The two slurmctld have the same path, as with a shared directory.
    await_answer(cluster)
}

#[test]
fn cli_steering_socket_follows_backup_controller() -> Result<()> {
    quick().backup().run(|cluster| {
        let socket = usual_socket(cluster);
        only_one_serves(cluster, cluster.slurmctld()?, &[cluster.backup()?], &socket)?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.await_takeover()?;
        only_one_serves(cluster, cluster.slurmctld()?, &[], &socket)?;
        steer(cluster, &["drain", "pod64", "--reason", "new switch"])?;
        cluster.return_control()?;
        only_one_serves(cluster, cluster.slurmctld()?, &[cluster.backup()?], &socket)?;
        ensure!(steer(cluster, &["resume", "pod64", "--reason", "done"])? == "resumed pod64\n");
        Ok(())
    })
}
