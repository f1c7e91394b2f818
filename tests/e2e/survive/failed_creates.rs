//! Partitions that cannot be made, and files that cannot be written.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use anyhow::{Context, Result, ensure};
use mock_vipu::{Effect, Fault, Rpc, StatusCode};
use testbed::{Cluster, JobView, main_job, page, permit, wait_until};
use vipu_client::Call;

use crate::jobs::{logged, reason, waits};
use crate::{LIMIT, quick};

const PAGE: &str = include_str!("../../../docs/recovery.md");
const TEXT: &str = "link training failed on ag3";

fn creates_fail(cluster: &Cluster) -> Result<()> {
    cluster.mock().inject(Fault::new(Effect::CreateError { text: TEXT.into() }))
}

fn is_held(job: &JobView) -> bool {
    job.state == "PENDING" && !job.system_comment.is_empty()
}

/// JobRequeue=0 and --no-requeue concern only runs that a node has seen. No node saw these runs.
#[test]
fn job_create_fails_without_requeue_is_held() -> Result<()> {
    let settings = quick().vipu_conf("CreateTimeout=3").slurm_conf("JobRequeue=0").expect_log(TEXT);
    settings.run(|cluster| {
        creates_fail(cluster)?;
        for options in [&[][..], &["--no-requeue"]] {
            let options = [&["--gres=vipu:pod64:16"], options].concat();
            let job = cluster.sbatch(main_job::SHOW, &options)?;
            let held = cluster.await_job(job, "to be held", LIMIT, |job| is_held(job) || job.is_over())?;
            ensure!(held.state == "PENDING", "{held:?}");
            let shown = cluster.scontrol(&["show", "job", &job.to_string()])?;
            ensure!(shown.contains(" Requeue=0 "), "{shown}");
            // The scheduler has looked at the queue since then: the reason must outlive that.
            main_job::start_delay(cluster)?;
            let held = cluster.job(job)?;
            let is_told =
                held.reason == "vipu:_held_-_no_partition_was_made" && held.system_comment.contains(TEXT);
            ensure!(is_told, "{held:?}");
            let states = cluster.command("sinfo").args(&["-h", "-o", "%T"]).success()?.stdout;
            ensure!(states == "idle\n", "the node is {states}");
        }
        cluster.mock().clear()?;
        let held: Vec<_> = cluster.jobs()?.into_iter().filter(|job| job.state == "PENDING").collect();
        let release =
            page::code(PAGE).find(|line| line.starts_with("squeue ")).context("no line releases")?;
        cluster.command("bash").args(&["-c", &release]).success()?;
        for job in held.into_iter().map(|job| job.id) {
            let ended = cluster.await_end(job, LIMIT)?;
            ensure!(ended.state == "COMPLETED", "{ended:?}");
            let partition = main_job::partition_name(job, ended.restarts);
            main_job::Shown::parse(&cluster.job_output(job))?.check(&partition, 16)?;
        }
        Ok(())
    })
}

#[test]
fn job_create_fails_message_of_srun_and_salloc() -> Result<()> {
    quick().vipu_conf("CreateTimeout=2").expect_log(TEXT).run(|cluster| {
        creates_fail(cluster)?;
        for by in ["srun", "salloc"] {
            let output = cluster.command(by).args(&["--gres=vipu:pod64:4", "echo", "it ran"]).output()?;
            ensure!(output.code != 0 && !output.stdout.contains("it ran"), "{by}: {output:?}");
            ensure!(output.stderr.contains(TEXT), "{by}: {output:?}");
        }
        Ok(())
    })
}

fn waits_for(cluster: &Cluster, job: &JobView, part: &str) -> bool {
    ["PENDING", "CONFIGURING"].contains(&job.state.as_str()) && reason(cluster, job).contains(part)
}

#[test]
fn job_ipuof_dir_not_writable_for_a_while() -> Result<()> {
    let settings = quick().nodes(2).vipu_conf("CreateTimeout=3");
    settings.expect_log("IpuofDir: ").expect_log("StatusDir: ").run(|cluster| {
        let mode = |mode| permit(&cluster.layout().ipuof(), mode);
        mode(0o555)?;
        // The first job that meets the fault has a terminal.
        let start = |by: &str| cluster.command(by).args(&["--gres=vipu:pod64:4", "echo", "it ran"]).start();
        let first = start("srun")?;
        wait_until("the terminal to be told", LIMIT, || {
            Ok(first.stderr()?.contains("waiting: IpuofDir: cannot write to"))
        })?;
        let terminals = [first, start("salloc")?, start("srun")?];
        let batch = |options: &[&str]| {
            let options: Vec<_> =
                ["--gres=vipu:pod64:4", "--exclusive"].iter().chain(options).copied().collect();
            cluster.sbatch(main_job::SHOW, &options)
        };
        (0..6).try_for_each(|_| batch(&[]).map(drop))?;
        batch(&["--no-requeue"])?;
        batch(&["--array=1-3"])?;
        wait_until("all to wait with the reason", LIMIT, || {
            Ok(cluster.jobs()?.iter().all(|job| waits_for(cluster, job, "IpuofDir")))
        })?;
        // The tasks of the array are still one record.
        let seen = cluster.jobs()?;
        ensure!(seen.len() == 11, "{seen:?}");
        mode(0o755)?;
        for terminal in terminals {
            let output = terminal.success(LIMIT)?;
            ensure!(output.stdout.contains("it ran"), "{output:?}");
        }
        wait_until("all to end", LIMIT, || Ok(cluster.jobs()?.iter().all(JobView::is_over)))?;
        // slurmctld can write there, and no job could read its file.
        mode(0o700)?;
        let job = batch(&[])?;
        logged(cluster, "users cannot enter")?;
        let other = batch(&[])?;
        waits(cluster, other, "users cannot enter")?;
        mode(0o755)?;
        cluster.await_end(other, LIMIT)?;
        cluster.await_end(job, LIMIT)?;
        for job in cluster.jobs()? {
            ensure!(job.state == "COMPLETED" && job.restarts == 0, "{job:?}");
        }
        Ok(())
    })
}

/// An empty directory can be the mount point of a file system that is away: its files do not count as
/// deleted.
#[test]
fn job_files_stay_on_record_while_their_directory_is_away() -> Result<()> {
    // The status document has its place in this directory, too.
    let settings = quick().expect_log("is its file system mounted?").expect_log("StatusDir: cannot write");
    settings.run(|cluster| {
        let ipuof = cluster.layout().ipuof();
        let away = ipuof.with_extension("away");
        let job = crate::stay(cluster, 16)?;
        let path = |folder: &Path| folder.join(format!("slurm_{job}.conf"));
        let owner = fs::metadata(&ipuof)?;
        fs::rename(&ipuof, &away)?;
        fs::create_dir(&ipuof)?;
        std::os::unix::fs::chown(&ipuof, Some(owner.uid()), Some(owner.gid()))?;
        crate::let_go(cluster)?;
        // The job's IPUs become free nevertheless, and the next job waits.
        cluster.mock().await_removed(&format!("slurm_{job}"), LIMIT)?;
        cluster.await_end(job, LIMIT)?;
        let next = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64"])?;
        cluster.await_job(next, "to wait", LIMIT, |job| waits_for(cluster, job, "mounted"))?;
        ensure!(path(&away).exists());
        fs::remove_dir_all(&ipuof)?;
        fs::rename(&away, &ipuof)?;
        wait_until("the file to go", LIMIT, || Ok(!path(&ipuof).exists()))?;
        main_job::batch_ended(cluster, next, 64).map(drop)
    })
}

#[test]
fn job_controller_that_refuses_all_for_a_while() -> Result<()> {
    quick().nodes(2).expect_log("no rights").run(|cluster| {
        let code: StatusCode = serde_json::from_str("\"PERMISSION_DENIED\"")?;
        let rpc = Some(Rpc(Call::CreatePartition));
        cluster.mock().inject(Fault::new(Effect::Reject { rpc, code, text: "no rights".into() }))?;
        let held: Vec<_> = (0..2)
            .map(|_| {
                let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:4"])?;
                cluster.await_job(job, "to be held", LIMIT, is_held)?;
                Ok(job)
            })
            .collect::<Result<_>>()?;
        let third = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:4"])?;
        cluster.await_job(third, "to wait with its nodes", LIMIT, |job| {
            job.state == "CONFIGURING" && waits_for(cluster, job, "no rights")
        })?;
        let later = (0..6).map(|_| cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:4"]));
        let jobs: Vec<_> = [Ok(third)].into_iter().chain(later).collect::<Result<_>>()?;
        wait_until("all to wait with the reason", LIMIT, || {
            Ok(cluster
                .jobs()?
                .iter()
                .filter(|job| jobs.contains(&job.id))
                .all(|job| waits_for(cluster, job, "no rights")))
        })?;
        let with_nodes = cluster.jobs()?.iter().filter(|job| job.state == "CONFIGURING").count();
        ensure!(with_nodes <= 2, "of this user one asks, and one more after a minute: {:?}", cluster.jobs());
        cluster.mock().clear()?;
        // A job asks again within a minute, or at once after a change of the configuration.
        cluster.write_vipu_conf(&["ApiTimeout=40"])?;
        cluster.reconfigure()?;
        for job in jobs {
            let ended = cluster.await_end(job, LIMIT)?;
            ensure!(ended.state == "COMPLETED" && ended.restarts == 0, "{ended:?}");
        }
        ensure!(held.iter().all(|job| cluster.job(*job).is_ok_and(|job| is_held(&job))));
        Ok(())
    })
}
