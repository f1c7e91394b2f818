//! The kinds of jobs that differ most between releases, on four hosts. `tests/e2e` has all kinds on one host.

use anyhow::{Result, ensure};
use testbed::{
    JobId,
    compose::Cluster,
    main_job::{SHOW, Shown, partition_name},
};

use crate::{LIMIT, partition, quick};

#[test]
fn matrix_job_kinds() -> Result<()> {
    quick().run_in_containers(|cluster| {
        array(cluster)?;
        het(cluster)?;
        requeued_and_held(cluster)
    })
}

/// Runs eight tasks on four hosts, with room for four.
fn array(cluster: &Cluster) -> Result<()> {
    let args = ["--array=0-7", "--exclusive", "--gres=vipu:pod64:16", "--output=%j.out"];
    let last = cluster.sbatch(SHOW, &args)?;
    let after = cluster.sbatch("true", &[&format!("--dependency=afterok:{last}")])?;
    ensure!(cluster.await_end(after, LIMIT)?.state == "COMPLETED");
    let records = cluster.mock().report()?.partitions;
    ensure!(records.len() == 8, "{records:?}");
    for record in records {
        let job = record.id.trim_start_matches("slurm_").parse()?;
        Shown::parse(&cluster.job_output(job))?.check(&record.id, 16)?;
    }
    Ok(())
}

/// Checks that each component has its own partition, and that its host finds the file.
fn het(cluster: &Cluster) -> Result<()> {
    let script = format!(
        "{SHOW}\nfor group in 0 1; do srun --het-group=$group bash -c 'echo group $(hostname) $(wc -l < $IPUOF_CONFIG_PATH) $IPUOF_CONFIG_PATH'; done"
    );
    let leader = cluster.sbatch(&script, &["--gres=vipu:pod64:4", ":", "--gres=vipu:pod64:8"])?;
    let components = [leader, JobId(leader.0 + 1)];
    for job in components {
        ensure!(cluster.await_end(job, LIMIT)?.state == "COMPLETED");
    }
    let output = cluster.job_output(leader);
    Shown::parse(&output)?.check(&partition(leader), 4)?;
    let told = |job: JobId| output.lines().find(|line| line.ends_with(&format!("/{}.conf", partition(job))));
    let hosts: Vec<_> =
        components.into_iter().filter_map(told).filter_map(|line| line.split(' ').nth(1)).collect();
    ensure!(hosts.len() == 2 && hosts[0] != hosts[1], "{output}");
    for job in components {
        cluster.mock().await_removed(&partition(job), LIMIT)?;
    }
    Ok(())
}

/// Checks that no partition and no file of the first run is left while the job is held.
fn requeued_and_held(cluster: &Cluster) -> Result<()> {
    let script = format!("{SHOW}\n[ \"$SLURM_RESTART_COUNT\" ] || sleep 1000");
    let job = cluster.sbatch(&script, &["--requeue", "-N4", "--gres=vipu:pod64:64", "--ipu-gcds=1"])?;
    cluster.await_state(job, "RUNNING", LIMIT)?;
    cluster.scontrol(&["requeuehold", &job.to_string()])?;
    cluster.await_job(job, "to be held", LIMIT, |job| job.state == "PENDING" && job.restarts == 1)?;
    cluster.mock().await_removed(&partition(job), LIMIT)?;
    ensure!(cluster.ipuof_files()?.is_empty(), "{:?}", cluster.ipuof_files()?);
    cluster.scontrol(&["update", &format!("JobId={job}"), "StartTime=now"])?;
    cluster.scontrol(&["release", &job.to_string()])?;
    ensure!(cluster.await_end(job, LIMIT)?.state == "COMPLETED");
    Shown::parse(&cluster.job_output(job))?.check(&partition_name(job, 1), 64)
}
