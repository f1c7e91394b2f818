//! The number of IPUs in Slurm's records, in the database and in the use of QOS.

use anyhow::{Result, ensure};
use rustix::process::Signal;
use testbed::{JobId, main_job, next_second};

use super::{add_root, enforcing, ipus_in, limit, recorded, shows, uses, was_recorded, will_use};
use crate::LIMIT;
use crate::jobs::{ended, ipus, let_go, partition, running, runs, submit, update};

#[test]
fn acct_ipus_count_once_on_one_node_and_on_two() -> Result<()> {
    enforcing().nodes(2).run(|cluster| {
        add_root(cluster, &["normal"])?;
        let one = running(cluster, 16, &[])?;
        let two = running(cluster, 8, &["-N2"])?;
        shows(cluster, one, 16)?;
        shows(cluster, two, 8)?;
        uses(cluster, "normal", 24)?;
        // Two steps at a time do not wait for each other's IPUs.
        let steps = "srun -n1 sleep 2 & srun -n1 --overlap true; wait";
        let with_steps = cluster.sbatch(steps, &["--gres=vipu:pod64:4", "-N2", "-n2"])?;
        ended(cluster, with_steps, "COMPLETED")?;
        let_go(cluster, one)?;
        uses(cluster, "normal", 8)?;
        let_go(cluster, two)?;
        uses(cluster, "normal", 0)?;
        for (job, ipus) in [(one, 16), (two, 8), (with_steps, 4)] {
            was_recorded(cluster, job, ipus)?;
            // No job has a line for its partition, unless the site wants that.
            let lines = recorded(cluster, job, "JobName")?;
            ensure!(!lines.iter().any(|line| line[0] == partition(job)), "{lines:?}");
        }
        Ok(())
    })
}

#[test]
fn acct_ipus_of_whole_nodes_count_once() -> Result<()> {
    enforcing().nodes(2).run(|cluster| {
        add_root(cluster, &["normal"])?;
        let job = running(cluster, 16, &["-N2", "--exclusive"])?;
        shows(cluster, job, 16)?;
        uses(cluster, "normal", 16)?;
        let_go(cluster, job)?;
        let without = cluster.sbatch("true", &["-N2", "--exclusive"])?;
        ended(cluster, without, "COMPLETED")?;
        was_recorded(cluster, job, 16)?;
        let line = &recorded(cluster, without, "AllocTRES")?[0][0];
        ensure!(!line.contains("18446744073709551613"), "{line}");
        uses(cluster, "normal", 0)
    })
}

#[test]
fn acct_tasks_of_an_array_and_components_count_each() -> Result<()> {
    enforcing().nodes(3).slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        add_root(cluster, &["normal"])?;
        let array = submit(cluster, &["--array=0-2", "-N2", "--gres=vipu:pod64:8"])?;
        will_use(cluster, "normal", 24)?;
        let het = cluster.command("sbatch").args(&[
            "--parsable",
            "-o/dev/null",
            "--gres=vipu:pod64:4",
            "-N2",
            ":",
            "--gres=vipu:pod64:2",
            "--wrap",
            "sleep 300",
        ]);
        let leader = JobId(het.success()?.stdout.trim().parse()?);
        let second = JobId(leader.0 + 1);
        for (component, ipus) in [(leader, 4), (second, 2)] {
            runs(cluster, component)?;
            shows(cluster, component, ipus)?;
        }
        // Slurm 26.05 adds only the first component to the use, also its CPUs.
        cluster.command("scancel").args(&[&leader.to_string(), &array.to_string()]).success()?;
        will_use(cluster, "normal", 0)
    })
}

/// A change of a waiting task splits it off from its array.
#[test]
fn acct_a_task_that_is_split_off_counts_what_it_asks_for() -> Result<()> {
    enforcing().nodes(2).run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        limit(cluster, "limited", "MaxTRESPerUser=gres/vipu=16")?;
        let array = submit(cluster, &["-qlimited", "--array=0-2", "-N2", "--gres=vipu:pod64:16"])?;
        will_use(cluster, "limited", 16)?;
        let last = format!("{array}_2");
        cluster.scontrol(&["update", &format!("JobId={last}"), "Gres=vipu:pod64:8"])?;
        cluster.scontrol(&["hold", &last])?;
        let tasks = [(0, 16), (1, 16), (2, 8)];
        for (task, ipus) in tasks {
            let id = cluster.command("squeue").args(&["-hj", &format!("{array}_{task}"), "-o", "%A"]);
            let job: JobId = id.success()?.stdout.parse()?;
            if task == 2 {
                cluster.scontrol(&["release", &last])?;
            }
            runs(cluster, job)?;
            uses(cluster, "limited", ipus)?;
            let_go(cluster, job)?;
        }
        uses(cluster, "limited", 0)?;
        let lines = recorded(cluster, array, "JobID,AllocTRES")?;
        for (task, ipus) in tasks {
            let line = lines.iter().find(|line| line[0] == format!("{array}_{task}"));
            let counted = line.and_then(|line| ipus_in(&line[1])[0]);
            ensure!(counted == Some(&ipus.to_string()), "task {task}: {lines:?}");
        }
        Ok(())
    })
}

#[test]
fn acct_a_job_that_gives_up_nodes_counts_on() -> Result<()> {
    enforcing().nodes(3).run(|cluster| {
        add_root(cluster, &["normal"])?;
        let job = running(cluster, 16, &["-N3", "-n3"])?;
        // slurmdbd knows a run by its job and the second of its submit or its resize.
        next_second()?;
        update(cluster, job, &["NumNodes=1"])?;
        shows(cluster, job, 16)?;
        uses(cluster, "normal", 16)?;
        let_go(cluster, job)?;
        uses(cluster, "normal", 0)
    })
}

#[test]
fn acct_a_requeued_job_counts_again() -> Result<()> {
    enforcing().nodes(2).run(|cluster| {
        add_root(cluster, &["normal"])?;
        let job = running(cluster, 16, &["-N2"])?;
        next_second()?;
        cluster.scontrol(&["requeue", &job.to_string()])?;
        will_use(cluster, "normal", 0)?;
        crate::jobs::waits_again(cluster, job, 1)?;
        crate::jobs::begin_again(cluster, job)?;
        runs(cluster, job)?;
        shows(cluster, job, 16)?;
        uses(cluster, "normal", 16)?;
        let_go(cluster, job)?;
        uses(cluster, "normal", 0)
    })
}

#[test]
fn acct_ipus_are_billed_by_their_number() -> Result<()> {
    let weights = "PartitionName=billed Nodes=ALL TRESBillingWeights=cpu=0,gres/vipu=2.0";
    enforcing().nodes(2).slurm_conf(weights).slurm_conf("PriorityType=priority/multifactor").run(|cluster| {
        add_root(cluster, &["normal"])?;
        let jobs = ["-N1", "-N2"].map(|nodes| {
            let job = cluster.sbatch(main_job::SHOW, &["-pbilled", nodes, "--gres=vipu:pod64:16"])?;
            ended(cluster, job, "COMPLETED")?;
            Ok::<_, anyhow::Error>(job)
        });
        for job in jobs {
            let line = recorded(cluster, job?, "AllocTRES")?[0][0].clone();
            ensure!(line.contains("billing=32,"), "{line}");
        }
        Ok(())
    })
}

#[test]
fn acct_prepared_jobs_count_and_show_nothing_in_their_steps() -> Result<()> {
    enforcing().vipu_conf("Prepare=all").run(|cluster| {
        add_root(cluster, &["normal"])?;
        let job = ipus(cluster, 16, 10, &[])?;
        runs(cluster, job)?;
        shows(cluster, job, 16)?;
        let srun = ["-Jinteractive", "--gres=vipu:pod64:8", "sleep", "300"];
        let mut terminal = cluster.command("srun").args(&srun).start()?;
        let interactive = cluster.await_job_named("interactive", LIMIT)?;
        runs(cluster, interactive)?;
        shows(cluster, interactive, 8)?;
        uses(cluster, "normal", 24)?;
        terminal.signal(Signal::TERM)?;
        let_go(cluster, job)?;
        will_use(cluster, "normal", 0)?;
        was_recorded(cluster, job, 16)?;
        was_recorded(cluster, interactive, 8)
    })
}
