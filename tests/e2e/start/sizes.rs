//! The number of IPUs of a job: rounded up, within limits, at submit and when it is changed.

use anyhow::{Context, Result, bail, ensure};
use testbed::{Cluster, JobId, Settings, main_job, wait_until};

use crate::jobs::ended;
use crate::{LIMIT, let_go, quick, stay};

const ROUNDED: &str = "vipu: 3 IPUs are rounded up to 4, as partitions have 1, 2, 4 ... IPUs";

/// Returns the output of `scontrol show job` for this job.
fn shown(cluster: &Cluster, job: JobId) -> Result<String> {
    cluster.scontrol(&["show", "job", &job.to_string()])
}

/// Updates a job with `scontrol update`. Returns the message of a refusal.
fn updated(cluster: &Cluster, job: JobId, change: &str) -> Result<Option<String>> {
    let output = cluster.command("scontrol").args(&["update", &format!("JobId={job}"), change]).output()?;
    Ok((output.code != 0).then_some(output.stderr))
}

/// Asks for an update that has to be accepted. Tries again where Slurm 24.11 takes an errno that an earlier
/// call left for an error: it does this at every third change of `Partition=`, also without slurm-vipu.
pub(crate) fn accepted(cluster: &Cluster, job: JobId, change: &str) -> Result<()> {
    wait_until("the change to be taken", LIMIT, || match updated(cluster, job, change)? {
        None => Ok(true),
        Some(told) if told.contains("Resource temporarily unavailable") => Ok(false),
        Some(told) => bail!("{change}: {told}"),
    })
}

/// Asks for an update that has to be refused: with this line, if the Slurm release can show one.
pub(crate) fn refused(cluster: &Cluster, job: JobId, change: &str, line: &str) -> Result<()> {
    let told = updated(cluster, job, change)?.with_context(|| format!("{change} was accepted"))?;
    let has_no_place = testbed::programs::slurm_version()?.series() < slurm_release::Series::new(23, 2);
    ensure!(has_no_place || told.contains(line), "{change}: {told}");
    ensure!(cluster.slurmctld_log().contains(line), "{change}: {line} is not in slurmctld's log");
    Ok(())
}

#[test]
fn user_size_is_rounded_up_with_a_notice() -> Result<()> {
    quick().vipu_conf("SizePolicy=round-up").run(|cluster| {
        for (by, options) in [("srun", "--ipus=3"), ("salloc", "--ipus=3"), ("srun", "--gres=vipu:pod64:3")] {
            let command = cluster.command(by).args(&[options, "bash", "-c", "echo $SLURM_VIPU_IPUS"]);
            let output = command.success()?;
            ensure!(output.stdout.trim() == "4", "{by} {options}: {output:?}");
            ensure!(output.stderr.contains(&format!("{by}: {ROUNDED}")), "{by} {options}: {output:?}");
        }
        let output = cluster.sbatch_command("srun true", &["--gres=vipu:3", "--ipu-gcds=4"])?.success()?;
        ensure!(output.stderr.contains(&format!("sbatch: {ROUNDED}")), "{output:?}");
        let words = output.stdout.split_whitespace();
        let job = JobId(words.last().context("no job id")?.parse()?);
        ensure!(shown(cluster, job)?.contains("vipu:pod64:4"), "{}", shown(cluster, job)?);
        ended(cluster, job, "COMPLETED")?;
        Ok(())
    })
}

const IN_DEBUG: &str = "vipu: a job in Slurm partition debug gets at most 8 IPUs of pod64";
const BY_DEFAULT: &str = "vipu: a job in Slurm partition v-ipu gets at most 32 IPUs of pod64";
const OF_LOW: &str = "vipu: a job of QOS low gets at most 4 IPUs of pod64";

#[test]
fn user_update_is_checked_as_a_submit_is() -> Result<()> {
    let limits = ["MaxIpusPerJobInSlurmPartition=debug:8,v-ipu:32", "MaxIpusPerJobInQos=low:4"];
    let settings = limits.into_iter().fold(quick(), Settings::vipu_conf).vipu_conf("SizePolicy=round-up");
    settings.slurm_conf("PartitionName=debug Nodes=ALL MaxTime=60").run(|cluster| {
        let job = cluster.sbatch("echo $SLURM_VIPU_IPUS", &["--ipus=16", "--ipu-gcds=4", "--hold"])?;
        for (change, line) in [
            ("Gres=vipu:pod64:2", "vipu: --ipu-gcds=4: 2 IPUs cannot be divided into so many GCDs"),
            ("Gres=vipu:pod64:128", BY_DEFAULT),
            ("Gres=vipu:pod99:4", "vipu: there is no model pod99"),
            ("Partition=debug", IN_DEBUG),
            ("QOS=low", OF_LOW),
            ("Gres=", "vipu: options like --ipus stay with their job, and need IPUs"),
        ] {
            refused(cluster, job, change, line)?;
            ensure!(shown(cluster, job)?.contains("vipu:pod64:16"), "{change}: {}", shown(cluster, job)?);
        }
        accepted(cluster, job, "Gres=vipu:7")?;
        ensure!(shown(cluster, job)?.contains("vipu:pod64:8"), "{}", shown(cluster, job)?);
        accepted(cluster, job, "Partition=debug")?;
        refused(cluster, job, "Gres=vipu:16", IN_DEBUG)?;
        // slurm-vipu does not judge changes that do not concern IPUs.
        accepted(cluster, job, "TimeLimit=5")?;
        cluster.scontrol(&["release", &job.to_string()])?;
        ended(cluster, job, "COMPLETED")?;
        ensure!(cluster.job_output(job) == "8\n", "{}", cluster.job_output(job));
        // A job that has its IPUs cannot get others.
        let job = stay(cluster, 16)?;
        for change in ["Gres=vipu:pod64:32", "Gres="] {
            ensure!(updated(cluster, job, change)?.is_some(), "{change} was accepted");
            ensure!(shown(cluster, job)?.contains("vipu:pod64:16"), "{change}: {}", shown(cluster, job)?);
        }
        let_go(cluster)?;
        main_job::batch_ended(cluster, job, 16).map(drop)
    })
}
