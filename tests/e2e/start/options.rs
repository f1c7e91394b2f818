//! `--ipus` and the other job options, and Slurm partitions in which they are refused.

use anyhow::{Context, Result, ensure};
use mock_vipu::Made;
use testbed::main_job::{self, BAD_REQUESTS, RESOLVED_REQUESTS};
use testbed::{Cluster, JobId, Output};
use vipu_types::JobOption;

use super::sizes::{accepted, refused};
use crate::jobs::{begin_again, cancel, ended, restart_slurmctld, runs, waits_again};
use crate::{LIMIT, quick};

const SUBMITTERS: [&str; 3] = ["sbatch", "srun", "salloc"];

/// Runs `true` as a job by sbatch, srun or salloc.
fn run_true(cluster: &Cluster, by: &str, options: &[&str]) -> Result<Output> {
    let what = if by == "sbatch" { "--wrap=true" } else { "true" };
    cluster.command(by).args(options).args(&[what]).output()
}

/// Returns the number of IPUs and the shape of the partition of a job's run.
fn made(cluster: &Cluster, job: JobId, restarts: u16) -> Result<(usize, Made)> {
    let record = cluster.mock().record(&main_job::partition_name(job, restarts))?;
    Ok((record.ipus().len(), record.made))
}

#[test]
fn user_options_shape_the_partition() -> Result<()> {
    quick().run(|cluster| {
        let directives = [
            "--ipus=16",
            "--ipu-model=pod64",
            "--ipu-gcds=4",
            "--ipu-replicas=8",
            "--ipu-sync=pod-native-default",
            "--ipu-routing=ringswnc",
            "--ipu-gateway-routing=swring",
        ];
        let script: String = directives.map(|option| format!("#SBATCH {option}\n")).concat() + "true";
        let job = cluster.sbatch(&script, &[])?;
        ended(cluster, job, "COMPLETED")?;
        let wanted = Made {
            gcds: 4,
            replicas: 8,
            reconfigurable: false,
            sync_type: 3,
            ipulink_routing: 4,
            gateway_routing: 3,
        };
        ensure!(made(cluster, job, 0)? == (16, wanted), "{:?}", made(cluster, job, 0)?);

        // srun and salloc get a model alone in --gres.
        for by in ["srun", "salloc"] {
            let command =
                cluster.command(by).args(&["--gres=vipu:pod64", "--ipus=2", "--ipu-reconfigurable"]);
            let command = command.args(&["bash", "-c", "echo $SLURM_JOB_ID"]);
            let job = JobId(command.success()?.stdout.trim().parse()?);
            let (ipus, made) = made(cluster, job, 0)?;
            ensure!(ipus == 2 && made.reconfigurable && made.gcds == 1, "{by}: {made:?}");
        }
        Ok(())
    })
}

#[test]
fn user_bad_options_leave_no_job_behind_and_good_ones_are_in_the_help() -> Result<()> {
    quick().run(|cluster| {
        for (options, line) in [
            (&["--ipus=0"][..], "--ipus=0: a number of IPUs, 1 or more, is needed"),
            (&["--ipus=4\u{7}"], r"--ipus=4\u{7}: a number of IPUs"),
            (&["--ipus=3"], "vipu: 3 IPUs is not a power of two; valid: --ipus=2 or --ipus=4; models"),
            (
                &["--ipu-gcds=2"],
                "--ipu-gcds says what a partition is to be like, and the job asks for no IPUs",
            ),
        ] {
            for by in SUBMITTERS {
                let output = run_true(cluster, by, options)?;
                ensure!(output.code != 0 && output.stderr.contains(line), "{by} {options:?}: {output:?}");
            }
        }
        for request in BAD_REQUESTS {
            main_job::refuse(cluster, request)?;
        }
        let queue = cluster.command("squeue").args(&["-h", "--states=all"]).success()?.stdout;
        ensure!(queue.trim().is_empty(), "{queue}");
        for (gres, ipus) in RESOLVED_REQUESTS {
            main_job::resolve(cluster, gres, *ipus)?;
        }
        for by in SUBMITTERS {
            let help = cluster.command(by).args(&["--help"]).success()?.stdout;
            for option in JobOption::ALL {
                let option = format!("--{}", option.help().name);
                ensure!(help.contains(&option), "{by} --help has no {option}");
            }
        }
        Ok(())
    })
}

#[test]
fn user_options_survive_a_requeue() -> Result<()> {
    quick().run(|cluster| {
        let job =
            cluster.sbatch("[ \"$SLURM_RESTART_COUNT\" ] || sleep 1000", &["--ipus=4", "--ipu-gcds=2"])?;
        runs(cluster, job)?;
        cluster.await_saved()?;
        restart_slurmctld(cluster)?;
        cluster.scontrol(&["requeue", &job.to_string()])?;
        waits_again(cluster, job, 1)?;
        begin_again(cluster, job)?;
        cluster.await_job(job, "to end", LIMIT, |job| job.state == "COMPLETED")?;
        for restarts in [0, 1] {
            let (ipus, made) = made(cluster, job, restarts)?;
            ensure!((ipus, made.gcds) == (4, 2), "run {restarts}: {ipus} {made:?}");
        }
        Ok(())
    })
}

#[test]
fn user_options_in_arrays_and_components() -> Result<()> {
    quick().nodes(2).slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        let array = cluster.sbatch("true", &["--array=0-1", "--ipus=2", "--ipu-gcds=2"])?;
        cluster.await_end(array, LIMIT)?;
        let het = cluster.sbatch("true", &["--ipus=4", ":", "--ipus=8", "--ipu-gcds=4"])?;
        cluster.await_end(het, LIMIT)?;
        let ended = || {
            let records = cluster.mock().report()?.partitions;
            let mut made: Vec<_> = records.iter().map(|it| (it.ipus().len(), it.made.gcds)).collect();
            made.sort_unstable();
            Ok(made == [(2, 2), (2, 2), (4, 1), (8, 4)])
        };
        testbed::wait_until("four partitions as asked for", LIMIT, ended)
    })
}

#[test]
fn user_steps_share_the_partition() -> Result<()> {
    quick().extra_gres("token:1").expect_log("not enough IPUs").run(|cluster| {
        let show = "bash -c 'echo $SLURM_VIPU_PARTITION ${IPUOF_CONFIG_PATH##*/}'";
        let script = format!(
            "for options in '' --ipus=4 --gres=vipu:pod64:4 '--gres=token:1 --ipus=4'; do srun --overlap $options {show}; done\n\
             srun --ipus=32 {show} 2>&1 && echo started\n\
             srun --overlap {show} & srun --overlap {show} & wait\n\
             sbatch --parsable --wait --output=/dev/null --wrap true"
        );
        let job = cluster.sbatch(&script, &["--ipus=16", "--gres=token:1"])?;
        ended(cluster, job, "COMPLETED")?;
        let output = cluster.job_output(job);
        let ours = format!("slurm_{job} slurm_{job}.conf");
        ensure!(output.lines().filter(|line| *line == ours).count() == 6, "{output}");
        let refused = format!("not enough IPUs: --ipus=32, and job {job} has 16; a step shares");
        ensure!(output.contains(&refused) && !output.contains("started"), "{output}");
        // Jobs that the job submits do not inherit its options.
        let inner = output.lines().last().context("no inner job")?;
        let inner = cluster.job(JobId(inner.trim().parse()?))?;
        ensure!(inner.state == "COMPLETED" && cluster.mock().report()?.partitions.len() == 1, "{inner:?}");
        Ok(())
    })
}

#[test]
fn user_without_job_submit_is_told_of_options_and_has_gres() -> Result<()> {
    quick().slurm_conf("JobSubmitPlugins=all_partitions").expect_log("no IPUs: job").run(|cluster| {
        let output = cluster.command("srun").args(&["--ipus=4", "true"]).output()?;
        let told = "job 1 has none, though --ipus=4 was given";
        ensure!(output.code != 0 && output.stderr.contains(told), "{output:?}");
        ensure!(output.stderr.contains("JobSubmitPlugins in slurm.conf has vipu"), "{output:?}");
        main_job::sbatch(cluster, 4)?;
        main_job::srun(cluster, 4)?;
        // Slurm refuses a size that no partition can have, in its own words. A request without a model goes
        // to the only model.
        let refused = cluster.sbatch_command("true", &["--gres=vipu:pod64:3"])?.output()?;
        ensure!(refused.code != 0, "{refused:?}");
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:2"])?;
        main_job::batch_ended(cluster, job, 2).map(drop)
    })
}

/// Returns the size of the partition of a command's job. The command gets these variables and arguments,
/// sbatch also this script.
fn size(cluster: &Cluster, by: &str, env: &[(&str, &str)], args: &[&str]) -> Result<usize> {
    const SCRIPT: &str = "#SBATCH --ipus=2\ntrue";
    let command = match by {
        "sbatch" => cluster.sbatch_command(SCRIPT, args)?,
        _ => cluster.command(by).args(args).args(&["bash", "-c", "echo $SLURM_JOB_ID"]),
    };
    let command = env.iter().fold(command, |command, (name, value)| command.env(name, value));
    let job = match by {
        "sbatch" => cluster.submit(command)?,
        _ => JobId(command.success()?.stdout.trim().parse()?),
    };
    cluster.await_end(job, LIMIT)?;
    Ok(made(cluster, job, 0)?.0)
}

#[test]
fn user_options_by_variables_of_each_command() -> Result<()> {
    quick().run(|cluster| {
        let all = [("SLURM_IPUS", "4"), ("SBATCH_IPUS", "8"), ("SALLOC_IPUS", "16")];
        for (by, args, ipus) in [
            ("srun", &[][..], 4),
            ("srun", &["--ipus=1"], 1),
            // The order is that of Slurm's own options: the command line goes before a variable, a variable
            // before the script.
            ("sbatch", &[], 8),
            ("sbatch", &["--ipus=1"], 1),
            ("salloc", &[], 16),
            ("salloc", &["--ipus=1"], 1),
        ] {
            let got = size(cluster, by, &all, args)?;
            ensure!(got == ipus, "{by} {args:?}: {got}");
        }
        let output = cluster.command("srun").env("SLURM_IPUS", "x").args(&["true"]).output()?;
        let told = "--ipus=x: a number of IPUs, 1 or more, is needed (SLURM_IPUS)";
        ensure!(output.code != 0 && output.stderr.contains(told), "{output:?}");
        // The environment of a session makes no request for its steps, nor for jobs that it submits.
        let session = "srun bash -c 'echo step $SLURM_VIPU_IPUS'; srun --gres=none bash -c 'echo none $SLURM_VIPU_IPUS'; \
                       sbatch -W -o out --wrap='echo job $SLURM_VIPU_IPUS' && cat out";
        for args in [&[][..], &["--ipus=2"]] {
            let command = cluster.command("salloc").args(args).env("SLURM_IPUS", "64").env("SALLOC_IPUS", "2");
            let output = command.args(&["bash", "-c", session]).output()?;
            let told = output.stdout.starts_with("step 2\nnone\nSubmitted");
            ensure!(told && output.stdout.ends_with("job\n"), "{args:?}: {output:?}");
        }
        Ok(())
    })
}

#[test]
fn user_request_where_no_node_has_ipus_is_refused() -> Result<()> {
    let settings = quick().nodes(2).extra_gres("nic:1").node_gres(2, "nic:1");
    let settings = settings.slurm_conf("PartitionName=cpu Nodes=ipu-pod64-002");
    settings.slurm_conf("PartitionName=ipu Nodes=ipu-pod64-001").run(|cluster| {
        let told = "vipu: no node of Slurm partition cpu has IPUs; try v-ipu or ipu";
        for by in ["sbatch", "srun", "salloc"] {
            let output = run_true(cluster, by, &["-p", "cpu", "--ipus=4"])?;
            ensure!(output.code != 0 && output.stderr.contains(told), "{by}: {output:?}");
        }
        // One Slurm partition with IPUs is enough, and jobs without IPUs go everywhere.
        let job = cluster.sbatch(main_job::SHOW, &["-p", "cpu,ipu", "--gres=vipu:pod64:4"])?;
        main_job::batch_ended(cluster, job, 4)?;
        let other = cluster.sbatch("true", &["-p", "cpu"])?;
        ended(cluster, other, "COMPLETED")?;

        let held = cluster.sbatch(main_job::SHOW, &["-p", "ipu", "-H", "--gres=vipu:pod64:4"])?;
        refused(cluster, held, "Partition=cpu", told)?;
        accepted(cluster, held, "Partition=cpu,ipu")?;
        cancel(cluster, held)
    })
}
