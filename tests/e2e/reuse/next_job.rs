//! The job that gets the partition of an earlier one.

use anyhow::{Result, ensure};
use testbed::{
    Account, Cluster, JobId,
    main_job::{SHOW, Shown, partition_name},
};
use vipu_status::{AUDIT_LOG, AuditLine};

use super::{are_idle, keep_no_longer, keeping, none_is_left};
use crate::LIMIT;
use crate::jobs::{ended, resets, restart_slurmctld, runs};

/// Runs a job that shows its IPUs, and checks that it had the partition of this job.
fn gets(cluster: &Cluster, account: &Account, ipus: u32, of: JobId) -> Result<JobId> {
    let request = format!("--gres=vipu:pod64:{ipus}");
    let job = cluster.submit(cluster.sbatch_command(SHOW, &[&request])?.account(account))?;
    ended(cluster, job, "COMPLETED")?;
    let shown = Shown::parse(&cluster.job_output(job))?;
    let partition = &shown.environment["SLURM_VIPU_PARTITION"];
    ensure!(*partition == partition_name(of, 0) && shown.file.devices.len() == ipus as usize, "{shown:?}");
    Ok(job)
}

/// The jobs that got an idle partition by the audit log, each with the job before it.
fn reuses(cluster: &Cluster) -> Result<Vec<(Option<u32>, Option<u32>)>> {
    let log = std::fs::read_to_string(cluster.layout().state().join(AUDIT_LOG))?;
    let lines: Vec<AuditLine> = log.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    Ok(lines.iter().filter(|line| line.what == "reuse").map(|line| (line.job, line.before)).collect())
}

#[test]
fn reuse_gives_the_partition_to_the_next_job_after_a_reset() -> Result<()> {
    keeping("always").run(|cluster| {
        let root = Account::named("root")?;
        let first = cluster.sbatch(SHOW, &["--gres=vipu:pod64:4"])?;
        ended(cluster, first, "COMPLETED")?;
        are_idle(cluster, &[first])?;
        ensure!(cluster.ipuof_files()?.is_empty(), "{:?}", cluster.ipuof_files()?);
        let second = gets(cluster, &root, 4, first)?;
        are_idle(cluster, &[first])?;
        let third = gets(cluster, &Account::named("daemon")?, 4, first)?;
        are_idle(cluster, &[first])?;
        let reused = |job: JobId, before: JobId| (Some(job.0), Some(before.0));
        ensure!(reuses(cluster)? == [reused(second, first), reused(third, second)]);
        ensure!(
            cluster.mock().report()?.partitions.len() == 1
                && resets(cluster, &partition_name(first, 0))? == 3
        );
        // A slurmctld that starts removes what is idle. It does not know who may have it.
        restart_slurmctld(cluster)?;
        none_is_left(cluster)?;
        let last = cluster.sbatch(SHOW, &["--gres=vipu:pod64:4"])?;
        ended(cluster, last, "COMPLETED")?;
        are_idle(cluster, &[last])?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld()?;
        none_is_left(cluster)
    })
}

/// The file of a job is readable for its user alone, although the partition was another user's.
#[test]
fn reuse_resets_between_two_users_and_hides_the_file() -> Result<()> {
    keeping("other-users").run(|cluster| {
        let (one, other) = (Account::named("daemon")?, Account::named("root")?);
        let submit = |account: &Account| {
            let script = format!("{SHOW}\nwhile [ ! -e go ]; do sleep 0.2; done");
            cluster.submit(cluster.sbatch_command(&script, &["--gres=vipu:pod64:4"])?.account(account))
        };
        let first = cluster.submit(cluster.sbatch_command(SHOW, &["--gres=vipu:pod64:4"])?.account(&one))?;
        ended(cluster, first, "COMPLETED")?;
        are_idle(cluster, &[first])?;
        gets(cluster, &one, 4, first)?;
        are_idle(cluster, &[first])?;
        let partition = partition_name(first, 0);
        // A job that is made ready before it has nodes gets it, too.
        let srun = cluster.command("srun").args(&["--gres=vipu:pod64:4", "bash", "-c", SHOW]);
        let shown = Shown::parse(&srun.account(&one).success()?.stdout)?;
        ensure!(shown.environment["SLURM_VIPU_PARTITION"] == partition, "{shown:?}");
        are_idle(cluster, &[first])?;
        ensure!(resets(cluster, &partition)? == 0);
        let job = submit(&other)?;
        runs(cluster, job)?;
        ensure!(resets(cluster, &partition)? == 1);
        let output = || Ok(Shown::parse(&cluster.job_output(job)).ok());
        let shown = testbed::wait_for("the job to show its file", LIMIT, output)?;
        ensure!(shown.environment["SLURM_VIPU_PARTITION"] == partition, "{shown:?}");
        let file = &shown.environment["IPUOF_CONFIG_PATH"];
        let read = cluster.command("cat").args(&[file]).account(&one).output()?;
        ensure!(read.code != 0 && read.stdout.is_empty(), "{read:?}");
        crate::let_go(cluster)?;
        ended(cluster, job, "COMPLETED")?;
        are_idle(cluster, &[first])?;
        let read = cluster.command("cat").args(&[file]).output()?;
        ensure!(read.code != 0, "the file is still there: {read:?}");
        keep_no_longer(cluster)
    })
}
