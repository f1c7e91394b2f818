//! Batch jobs that get their IPUs.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::{Account, Cluster, main_job};

use crate::{LIMIT, quick, slow};

#[test]
fn job_sbatch_16() -> Result<()> {
    Cluster::settings().run(|cluster| {
        let run = main_job::batch(cluster, 16)?;
        ensure!(run.create >= Duration::from_millis(1900), "{run:?}");
        // Ten times the goal, or on a busy machine what a job without IPUs takes there.
        let plain = main_job::start_delay(cluster)?;
        ensure!(
            run.ready_to_start < Duration::from_secs(1).max(2 * plain),
            "{run:?}, without IPUs {plain:?}"
        );
        Ok(())
    })
}

#[test]
fn job_of_another_user() -> Result<()> {
    quick().run(|cluster| {
        let nobody = Account::named("nobody")?;
        let command = cluster.sbatch_command(main_job::SHOW, &["--gres=vipu:pod64:2"])?;
        let job = cluster.submit(command.account(&nobody))?;
        main_job::batch_ended(cluster, job, 2).map(drop)
    })
}

#[test]
fn job_on_two_nodes_has_one_partition() -> Result<()> {
    quick().nodes(2).run(|cluster| {
        // To a file each, as what two tasks print at once is mixed.
        let show = main_job::SHOW.replace('\'', r"'\''");
        let script = format!(
            "dir=$(mktemp -d)\nsrun --output=\"$dir/%t\" bash -c '{show}'\n\
             for task in 0 1; do echo \"-- task\"; cat \"$dir/$task\"; done\nrm -r \"$dir\""
        );
        let job = cluster
            .sbatch(&script, &["-N2", "--ntasks-per-node=1", "--gres=vipu:pod64:16", "--ipu-gcds=1"])?;
        cluster.await_end(job, LIMIT)?;
        let output = cluster.job_output(job);
        let tasks: Vec<_> = output.split("-- task\n").skip(1).collect();
        ensure!(tasks.len() == 2, "{output}");
        for task in tasks {
            main_job::check_run(cluster, job, "sbatch", 16, task)?;
        }
        let records = cluster.mock().report()?.partitions;
        ensure!(records.len() == 1, "{records:?}");
        Ok(())
    })
}

#[test]
fn job_het_has_a_partition_for_each_component() -> Result<()> {
    quick().nodes(2).run(|cluster| {
        let script = format!(
            "{}\nfor group in 0 1; do srun --het-group=$group bash -c 'echo group $SLURM_VIPU_IPUS $IPUOF_CONFIG_PATH'; done",
            main_job::SHOW
        );
        let job = cluster.sbatch(&script, &["--gres=vipu:pod64:4", ":", "--gres=vipu:pod64:8"])?;
        main_job::batch_ended(cluster, job, 4)?;
        let output = cluster.job_output(job);
        for (ipus, component) in [(4, job.0), (8, job.0 + 1)] {
            let line = output.lines().find(|line| line.starts_with(&format!("group {ipus} ")));
            let file = format!("/slurm_{component}.conf");
            ensure!(line.is_some_and(|line| line.ends_with(&file)), "{output}");
        }
        let mut sizes: Vec<_> =
            cluster.mock().report()?.partitions.iter().map(|record| record.ipus().len()).collect();
        sizes.sort_unstable();
        ensure!(sizes == [4, 8], "{sizes:?}");
        Ok(())
    })
}

#[test]
fn job_without_ipus_is_not_delayed() -> Result<()> {
    // Token is a stock GRES: what a job behind a full one waits is what stock Slurm makes it wait.
    let settings = quick().extra_gres("token:1").slurm_conf("SchedulerParameters=bf_interval=1");
    settings.run(|cluster| {
        let stock = main_job::delay_behind(cluster, "token:1")?;
        let ipus = main_job::delay_behind(cluster, "vipu:pod64:64")?;
        println!(
            "start of a job without IPUs behind a full stock GRES: {stock:?}, behind full IPUs: {ipus:?}"
        );
        // Both depend on where in backfill's interval the submit falls.
        ensure!(ipus <= stock + Duration::from_millis(1500), "behind IPUs {ipus:?}, behind stock {stock:?}");
        Ok(())
    })
}

#[test]
fn job_under_the_linear_selector() -> Result<()> {
    let settings = slow(1).nodes(2).vipu_conf("Layer=linear").slurm_conf("SelectTypeParameters=CR_Memory");
    settings.run(|cluster| {
        main_job::sbatch(cluster, 16)?;
        // The linear selector gives whole nodes.
        let two = cluster.sbatch("sleep 1000", &["-N2", "-n2"])?;
        cluster.await_job(two, "to run", LIMIT, |job| job.state == "RUNNING")?;
        let nodes = cluster.command("sinfo").args(&["-h", "-o", "%T"]).success()?.stdout;
        ensure!(nodes == "allocated\n", "the nodes are {nodes}");
        Ok(())
    })
}

#[test]
fn job_many_at_once() -> Result<()> {
    const JOBS: usize = 32;
    slow(2).cpus(64).run(|cluster| {
        // They start together when the last is submitted: how long sbatch takes is not the question.
        cluster.scontrol(&["update", "PartitionName=v-ipu", "State=DOWN"])?;
        let jobs = (0..JOBS).map(|_| cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:1"]));
        let jobs: Vec<_> = jobs.collect::<Result<_>>()?;
        cluster.scontrol(&["update", "PartitionName=v-ipu", "State=UP"])?;
        for job in jobs {
            main_job::batch_ended(cluster, job, 1)?;
        }
        let records = cluster.mock().report()?.partitions;
        ensure!(records.len() == JOBS, "{} partitions were made", records.len());
        let first = records.iter().map(|record| record.create_request).min().context("none was asked for")?;
        let active: Option<Vec<_>> = records.iter().map(|record| record.active).collect();
        let last = active.and_then(|all| all.into_iter().max()).context("not all were ACTIVE")?;
        let took = last.since(first);
        println!("from the first create to the last ACTIVE of {JOBS} partitions: {took:?}");
        // Each takes 2 s. Another 2 s would go by if they were made in two groups, which a pass of the
        // scheduler that is cut in two may bring about, and 1 s is for a machine that is busy launching
        // the first jobs. Made eight at a time they take 8 s, one after the other 64 s.
        ensure!(took < Duration::from_secs(5), "{JOBS} creates took {took:?}");
        Ok(())
    })
}
