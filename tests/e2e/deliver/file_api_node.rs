//! `Delivery=api` and `node`, as two users see them, and the warnings on a node that looks unfit for IPUs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use testbed::{Cluster, JobId, Output, Settings, wait_until};
use vipu_types::Delivery;

use super::{other, owner};
use crate::jobs::{cancel, ended};
use crate::{LIMIT, let_go, quick};

/// Starts a batch job of the owner that runs `script` and then stays until [`let_go`].
fn stay(cluster: &Cluster, script: &str, env: &[(&str, &str)]) -> Result<JobId> {
    let script = format!("{script}\necho looked\nwhile [ ! -e go ]; do sleep 0.1; done");
    let command = cluster.sbatch_command(&script, &["--gres=vipu:pod64:2"])?.account(&owner()?);
    let job = cluster.submit(env.iter().fold(command, |command, (name, value)| command.env(name, value)))?;
    wait_until("the job to look", LIMIT, || {
        ensure!(!cluster.job(job)?.is_over(), "it ended: {}", cluster.job_output(job));
        Ok(cluster.job_output(job).contains("looked\n"))
    })?;
    Ok(job)
}

/// Checks that `command` fails for the other user and prints nothing.
fn is_refused(cluster: &Cluster, command: &str, path: &str) -> Result<()> {
    let refused = cluster.command(command).args(&[path]).account(&other()?).output()?;
    ensure!(refused.code != 0 && refused.stdout.is_empty(), "{command} {path}: {refused:?}");
    Ok(())
}

/// Checks that no job has drained the node.
fn node_is_idle(cluster: &Cluster) -> Result<()> {
    cluster.await_node(1, |state| state == "IDLE")
}

/// Variables of both families that a user's shell may have.
const STALE: [(&str, &str); 4] = [
    ("IPUOF_CONFIG_PATH", "/home/me/old.conf"),
    ("IPUOF_VIPU_API_HOST", "elsewhere"),
    ("IPUOF_VIPU_API_GCD_ID", "7"),
    ("IPUOF_VIPU_API_TIMEOUT", "1"),
];

#[test]
fn user_delivery_by_api() -> Result<()> {
    quick().delivery(Delivery::Api).run(|cluster| {
        let show = "env | grep ^IPUOF_ | sort; echo step; srun env | grep ^IPUOF_ | sort";
        // A job that is submitted from within gets none of these variables.
        let inside = "sbatch --parsable --output=inside.out --wrap='env | grep ^IPUOF_; true' > /dev/null";
        let job = stay(cluster, &format!("{show}\n{inside}"), &STALE)?;
        let address = cluster.api_host(&[0]);
        let (host, port) = address.trim_start_matches("ApiHost=").split_once(':').context("no port")?;
        let told = format!(
            "IPUOF_VIPU_API_HOST={host}\nIPUOF_VIPU_API_PARTITION_ID=slurm_{job}\nIPUOF_VIPU_API_PORT={port}\n"
        );
        let output = cluster.job_output(job);
        ensure!(output == format!("{told}step\n{told}looked\n"), "{output}");
        ensure!(cluster.ipuof_files()?.is_empty(), "{:?}", cluster.ipuof_files()?);
        cluster.await_end(JobId(job.0 + 1), LIMIT)?;
        ensure!(fs::read_to_string(cluster.layout().jobs().join("inside.out"))?.is_empty());
        let_go(cluster)?;
        ended(cluster, job, "COMPLETED")?;
        cluster.mock().await_removed(&format!("slurm_{job}"), LIMIT).map(drop)
    })
}

/// The folders of steps that fetched files.
fn steps(cluster: &Cluster) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(cluster.layout().steps())?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn nothing_stays(cluster: &Cluster) -> Result<()> {
    wait_until("the fetched files to go", LIMIT, || Ok(steps(cluster)?.is_empty()))
}

const SHOW_FILE: &str =
    "stat --format=%a:%U $IPUOF_CONFIG_PATH && cat $IPUOF_CONFIG_PATH && echo $IPUOF_CONFIG_PATH";

#[test]
fn user_delivery_by_node() -> Result<()> {
    // The log lines of slurmctld and a node about a killed slurmd.
    let settings = quick().delivery(Delivery::Node).expect_log("not responding").expect_log("error: Nodes");
    settings.run(|cluster| {
        let job = stay(cluster, &format!("{SHOW_FILE}\nsrun bash -c '{SHOW_FILE}'"), &STALE)?;
        let output = cluster.job_output(job);
        ensure!(
            output.matches("400:nobody\n").count() == 2 && output.matches("devices").count() == 2,
            "{output}"
        );
        // The file of the step is gone with the step. The file of the script is there, for its user only.
        let [own] = &steps(cluster)?[..] else { bail!("{:?}", steps(cluster)?) };
        let file = own.join(format!("slurm_{job}.conf")).display().to_string();
        ensure!(output.contains(&file), "{file}: {output}");
        is_refused(cluster, "cat", &file)?;
        is_refused(cluster, "ls", &cluster.layout().steps().display().to_string())?;
        ensure!(fs::read_dir(cluster.layout().ipuof())?.next().is_none());
        let_go(cluster)?;
        cluster.await_end(job, LIMIT)?;
        nothing_stays(cluster)?;

        fs::remove_file(cluster.layout().jobs().join("go"))?;
        let cancelled = stay(cluster, "true", &[])?;
        ensure!(steps(cluster)?.len() == 1);
        cancel(cluster, cancelled)?;
        nothing_stays(cluster)?;

        let killed = stay(cluster, "true", &[])?;
        // The slurmstepd dies with it.
        cluster.kill_slurmd(1)?;
        ensure!(steps(cluster)?.len() == 1);
        cancel(cluster, killed)?;
        cluster.boot_slurmd(1)?;
        nothing_stays(cluster)?;
        cluster.await_end(killed, LIMIT).map(drop)
    })
}

/// Forged grants of a step, with the words of the refusal.
const FORGED: [(&str, &str); 3] = [
    ("slurm_1000,pod64,2,1,127.0.0.1:1,node", "partition slurm_1000 is not of job 1;"),
    ("slurm_1,pod64,2,1,127.0.0.1:1,node", "controller 127.0.0.1:1 is not in ApiHost"),
    ("slurm_1,slurm,2,1,127.0.0.1:1,node", "the settings of model slurm in"),
];

#[test]
fn user_delivery_by_node_tells_of_its_failures() -> Result<()> {
    let settings = quick().delivery(Delivery::Node).vipu_conf("ApiTimeout=1");
    settings.expect_log("no IPUs: partition").expect_log("settings of model slurm").run(|cluster| {
        let forged = FORGED.map(|(grant, _)| format!("SLURM_VIPU_JOB_1={grant} srun true\n")).concat();
        let script = format!("{forged}while [ ! -e away ]; do sleep 0.1; done\nsrun true || echo it failed");
        let command = cluster.sbatch_command(&script, &["--gres=vipu:pod64:2"])?.account(&owner()?);
        let job = cluster.submit(command)?;
        let await_words = |words: &str| {
            let what = format!("the job to be told: {words}");
            let told = wait_until(&what, LIMIT, || Ok(cluster.job_output(job).contains(words)));
            told.with_context(|| cluster.job_output(job))
        };
        FORGED.iter().try_for_each(|(_, words)| await_words(words))?;
        // Only the administrator can mend a file, so the user does not see its mistakes.
        ensure!(!cluster.job_output(job).contains("unknown key"), "{}", cluster.job_output(job));
        cluster.mock().refuse()?;
        fs::write(cluster.layout().jobs().join("away"), "")?;
        await_words("it failed")?;
        cluster.mock().clear()?;
        let output = cluster.job_output(job);
        let lines: Vec<_> = output.lines().filter(|line| line.contains("should check that")).collect();
        let [line] = lines[..] else { bail!("{output}") };
        testbed::say(line);
        for part in ["no IPUs: partition slurm_1 on node ipu-pod64-001: controller 127.0.0.1:", "refused"] {
            ensure!(line.contains(part), "{part}: {line}");
        }
        cluster.await_end(job, LIMIT)?;
        node_is_idle(cluster)
    })
}

/// Runs a job of a user whose shell may lock little memory.
fn little_memory(cluster: &Cluster) -> Result<Output> {
    let script = "ulimit -l 64; exec srun --propagate=MEMLOCK --gres=vipu:pod64:1 --ntasks=2 echo ran";
    cluster.command("bash").args(&["-c", script]).account(&owner()?).output()
}

fn preflight(settings: Settings) -> Result<Output> {
    settings.expect_log("of memory only").run(|cluster| {
        let output = little_memory(cluster)?;
        testbed::say(&output.stderr);
        node_is_idle(cluster)?;
        Ok(output)
    })
}

#[test]
fn user_delivery_to_an_unfit_node() -> Result<()> {
    let warned = preflight(quick().spank("preflight=warn"))?;
    ensure!(warned.stdout == "ran\nran\n", "{warned:?}");
    ensure!(warned.stderr.matches("warning: the IPUs may be out of reach").count() == 1, "{warned:?}");
    let failed = preflight(quick().spank("preflight=fail"))?;
    ensure!(
        failed.code != 0 && failed.stdout.is_empty() && failed.stderr.contains("no IPUs: "),
        "{failed:?}"
    );
    for output in [warned, failed] {
        for part in ["64 KiB of memory only", "PropagateResourceLimitsExcept=MEMLOCK in slurm.conf"] {
            ensure!(output.stderr.contains(part), "{part}: {output:?}");
        }
        let has_rdma = Path::new("/sys/class/infiniband").is_dir();
        ensure!(has_rdma || output.stderr.contains("no RDMA device"), "{output:?}");
    }
    Ok(())
}
