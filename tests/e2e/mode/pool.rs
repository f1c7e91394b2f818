//! Partitions that exist before the jobs, and stay after them (`Mode=pool`).

use anyhow::{Context as _, Result, ensure};
use mock_vipu::{Effect, Fault, Incident};
use testbed::{
    Account, Cluster, Settings,
    main_job::{SHOW, Shown, partition_name},
    wait_until,
};
use vipu_status::{Status, file_names};

use crate::LIMIT;
use crate::jobs::{ended, ends_without_slurmctld, let_go, restart_slurmctld, roomy, running, runs, staying};
use crate::see::steering::{steer, svipu};

/// A cluster whose model has this pool, with listings each second.
pub(crate) fn with_pool(pool: &str) -> Settings {
    roomy().vipu_conf("Mode=pool").vipu_conf(&format!("Pool={pool}")).vipu_conf("ReconcileInterval=1")
}

/// Makes partitions as an administrator does, each with its size, and waits until slurmctld knows them.
pub(crate) fn administrator_makes(cluster: &Cluster, partitions: &[(&str, u32)]) -> Result<()> {
    for (id, size) in partitions {
        let (id, size) = ((*id).to_owned(), *size);
        cluster.mock().cause(Incident::Foreign { id, size, first: None })?;
    }
    knows(cluster, partitions.iter().map(|(_, size)| size).sum())
}

/// Waits until slurmctld knows a pool of this many IPUs.
pub(super) fn knows(cluster: &Cluster, ipus: u32) -> Result<()> {
    wait_until(&format!("a pool of {ipus} IPUs"), LIMIT, || {
        let text = std::fs::read(cluster.layout().state().join(file_names::WHOLE))?;
        let models = Status::parse(&text)?.models;
        let pool = models.iter().flat_map(|model| &model.pods).flat_map(|pod| &pod.pool);
        Ok(pool.map(|block| block.size).sum::<u32>() == ipus)
    })
}

/// Runs a job that shows its IPUs, and returns its partition.
fn partition_of(cluster: &Cluster, account: &Account, ipus: u32) -> Result<String> {
    let request = format!("--gres=vipu:pod64:{ipus}");
    let job = cluster.submit(cluster.sbatch_command(SHOW, &[&request])?.account(account))?;
    ended(cluster, job, "COMPLETED")?;
    Ok(Shown::parse(&cluster.job_output(job))?.environment["SLURM_VIPU_PARTITION"].clone())
}

/// Ends the pool: no more pool in the configuration, and the administrator removes these partitions.
pub(crate) fn ends(cluster: &Cluster, partitions: &[&str]) -> Result<()> {
    given_up(cluster, &[], partitions)
}

/// With these lines in vipu.conf, the partitions are in no pool any more, and the administrator removes them.
pub(super) fn given_up(cluster: &Cluster, lines: &[&str], partitions: &[&str]) -> Result<()> {
    cluster.write_vipu_conf(lines)?;
    cluster.reconfigure()?;
    for partition in partitions {
        let there = cluster.mock().record(partition)?;
        ensure!(there.removed.is_none(), "slurm-vipu has removed {partition}");
        cluster.mock().cause(Incident::Vanish { partition: (*partition).to_owned() })?;
    }
    Ok(())
}

fn resets(cluster: &Cluster, partition: &str) -> Result<usize> {
    let events = cluster.mock().record(partition)?.events;
    Ok(events.iter().filter(|event| event.operation == "POS_RESETTING").count())
}

#[test]
fn mode_pool_gives_the_partitions_of_the_administrator_to_jobs() -> Result<()> {
    with_pool("p4_*,big").expect_log("there is none of this name").run(|cluster| {
        let (one, other) = (Account::named("root")?, Account::named("daemon")?);
        administrator_makes(cluster, &[("p4_a", 4), ("big", 16)])?;
        ensure!(partition_of(cluster, &one, 4)? == "p4_a" && partition_of(cluster, &one, 16)? == "big");
        // Always between two users, and before the first: nobody knows who had it.
        ensure!(partition_of(cluster, &other, 4)? == "p4_a" && resets(cluster, "p4_a")? >= 2);
        ensure!(cluster.ipuof_files()?.is_empty(), "{:?}", cluster.ipuof_files()?);
        // A partition has one job at a time.
        let first = running(cluster, 4, &[])?;
        let second = staying(cluster, 4, &[])?;
        cluster.await_job(second, "to say why it waits", LIMIT, |job| {
            job.reason.contains("no_such_partition_of_the_pool_is_free")
        })?;
        let_go(cluster, first)?;
        runs(cluster, second)?;
        let_go(cluster, second)?;
        ends(cluster, &["p4_a", "big"])
    })
}

#[test]
fn mode_pool_refuses_sizes_that_do_not_exist() -> Result<()> {
    with_pool("16x2,4x4").run(|cluster| {
        knows(cluster, 48)?;
        let refused = cluster.sbatch_command("true", &["--gres=vipu:pod64:8"])?.output()?;
        let line = "vipu: there is no partition for 8 IPUs: the pool of pod64 has partitions of 4 or 16 IPUs; valid: \
                    --gres=vipu:pod64:4 or --gres=vipu:pod64:16";
        ensure!(refused.code != 0 && refused.stderr.contains(line), "{refused:?}");
        let shape = cluster.sbatch_command("true", &["--ipus=4", "--ipu-gcds=2"])?.output()?;
        ensure!(shape.code != 0 && shape.stderr.contains("whose shapes are as they are"), "{shape:?}");
        cluster.write_vipu_conf(&["Mode=pool", "Pool=16x2,4x4", "SizePolicy=round-up"])?;
        cluster.reconfigure()?;
        let rounded = cluster.sbatch(SHOW, &["--gres=vipu:pod64:8"])?;
        ended(cluster, rounded, "COMPLETED")?;
        let shown = Shown::parse(&cluster.job_output(rounded))?;
        ensure!(shown.environment["SLURM_VIPU_IPUS"] == "16", "{shown:?}");
        ends(cluster, &["slurm_pod64_16_1", "slurm_pod64_16_2", "slurm_pod64_4_1", "slurm_pod64_4_2", "slurm_pod64_4_3", "slurm_pod64_4_4"])
    })
}

/// The partitions survive slurmctld, whether it stops in order or not, and so does the rule that each has one job.
#[test]
fn mode_pool_stays_over_restarts() -> Result<()> {
    with_pool("32x2").run(|cluster| {
        knows(cluster, 64)?;
        let (first, second) = (running(cluster, 32, &[])?, running(cluster, 32, &[])?);
        // A stop in order saves the jobs.
        restart_slurmctld(cluster)?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld()?;
        let third = staying(cluster, 32, &[])?;
        cluster.await_job(third, "to say why it waits", LIMIT, |job| {
            job.reason.contains("no_such_partition_of_the_pool_is_free")
        })?;
        ends_without_slurmctld(cluster, first)?;
        runs(cluster, third)?;
        let_go(cluster, second)?;
        let_go(cluster, third)?;
        wait_until("the files to go", LIMIT, || Ok(cluster.ipuof_files()?.is_empty()))?;
        ends(cluster, &["slurm_pod64_32_1", "slurm_pod64_32_2"])
    })
}

/// The drain is of the partition, wherever it stands in the pool, and outlives slurmctld.
#[test]
fn mode_pool_partition_is_drained() -> Result<()> {
    with_pool("big,p16_*").expect_log("there is none of this name").run(|cluster| {
        administrator_makes(cluster, &[("p16_b", 16), ("p16_c", 16)])?;
        let drained = steer(cluster, &["drain", "p16_b", "--reason", "new cable"])?;
        let rest = drained.strip_prefix("drained partition p16_b of pod64 (");
        let (controller, _) =
            rest.and_then(|rest| rest.split_once("): new cable;")).context(drained.clone())?;
        for (wrong, why) in [
            (&*format!("{controller}/0:3"), "drain the partition by its name"),
            ("p16_d", &*format!("p16_d is unknown; known are pod64 ({controller}, p16_b, p16_c)")),
        ] {
            let refused = svipu(cluster, &Account::root()?, &["drain", wrong, "--reason", "new cable"])?;
            ensure!(refused.code != 0 && refused.stderr.contains(why), "{refused:?}");
        }
        let first = running(cluster, 16, &[])?;
        restart_slurmctld(cluster)?;
        cluster.mock().cause(Incident::Foreign { id: "big".into(), size: 32, first: None })?;
        knows(cluster, 64)?;
        let second = staying(cluster, 16, &[])?;
        cluster.await_job(second, "to say why it waits", LIMIT, |job| {
            job.reason.contains("no_such_partition_of_the_pool_is_free")
        })?;
        let status = svipu(cluster, &Account::root()?, &["status"])?.stdout;
        ensure!(status.contains("2 of 16 IPUs (1 used, 1 drained)"), "{status}");
        ensure!(resets(cluster, "p16_b")? == 0, "a job had the drained partition");
        steer(cluster, &["resume", "p16_b", "--reason", "done"])?;
        runs(cluster, second)?;
        ensure!(resets(cluster, "p16_b")? == 1);
        let_go(cluster, first)?;
        let_go(cluster, second)?;
        ends(cluster, &["p16_b", "p16_c", "big"])
    })
}

#[test]
fn mode_pool_gives_another_partition_if_one_cannot_be_reset() -> Result<()> {
    let errors = ["no job gets partition", "cannot be given to a job"];
    errors.into_iter().fold(with_pool("32x2"), Settings::expect_log).run(|cluster| {
        knows(cluster, 64)?;
        cluster.mock().inject(Fault::new(Effect::ResetError { text: "link broken".into() }).times(1))?;
        let account = Account::named("root")?;
        let job = cluster.sbatch(SHOW, &["--gres=vipu:pod64:32"])?;
        wait_until("the first reset to fail", LIMIT, || {
            Ok(cluster.slurmctld_log().contains("cannot be given to a job"))
        })?;
        cluster.scontrol(&["update", &format!("JobId={job}"), "StartTime=now"])?;
        ended(cluster, job, "COMPLETED")?;
        ensure!(partition_of(cluster, &account, 32)? == "slurm_pod64_32_2");
        ends(cluster, &["slurm_pod64_32_1", "slurm_pod64_32_2"])
    })
}

/// An srun cannot go back into the line once it has its nodes, so the reset comes before.
#[test]
fn mode_pool_gives_srun_another_partition_if_one_cannot_be_reset() -> Result<()> {
    let errors = ["no job gets partition", "cannot be given to a job"];
    errors.into_iter().fold(with_pool("32x2"), Settings::expect_log).run(|cluster| {
        knows(cluster, 64)?;
        cluster.mock().inject(Fault::new(Effect::ResetError { text: "link broken".into() }).times(1))?;
        let srun = ["--gres=vipu:pod64:32", "sh", "-c", "echo $SLURM_VIPU_PARTITION"];
        let ended = cluster.command("srun").args(&srun).start()?.success(LIMIT)?;
        ensure!(ended.stdout.trim() == "slurm_pod64_32_2", "{ended:?}");
        ends(cluster, &["slurm_pod64_32_1", "slurm_pod64_32_2"])
    })
}

/// A site moves from one mode to the other and back while jobs run.
#[test]
fn mode_pool_begins_and_ends_while_jobs_run() -> Result<()> {
    roomy().vipu_conf("ReconcileInterval=1").run(|cluster| {
        let of_its_own = running(cluster, 16, &[])?;
        cluster.write_vipu_conf(&["Mode=pool", "Pool=16x1", "ReconcileInterval=1"])?;
        cluster.reconfigure()?;
        knows(cluster, 16)?;
        let of_pool = running(cluster, 16, &[])?;
        ensure!(cluster.mock().partitions()?.len() == 2);
        let_go(cluster, of_its_own)?;
        cluster.mock().await_removed(&partition_name(of_its_own, 0), LIMIT)?;
        cluster.write_vipu_conf(&["ReconcileInterval=1"])?;
        cluster.reconfigure()?;
        let again = running(cluster, 16, &[])?;
        let_go(cluster, of_pool)?;
        let_go(cluster, again)?;
        ends(cluster, &["slurm_pod64_16_1"])
    })
}
