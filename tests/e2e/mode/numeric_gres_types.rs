//! Sizes of the partitions of a pool as GRES types (`Gres=vipu:16:no_consume:4`), as the vendor's guide writes them.

use anyhow::{Result, ensure};
use testbed::{
    Cluster, JobId,
    main_job::{SHOW, Shown},
    wait_until,
};

use super::pool::{administrator_makes, given_up, with_pool};
use crate::LIMIT;
use crate::jobs::ended;

const PARTITIONS: [(&str, u32); 2] = [("p4_a", 4), ("p16_a", 16)];

/// What Slurm keeps as the request of a job.
fn request_of(cluster: &Cluster, job: JobId) -> Result<String> {
    let shown = cluster.scontrol(&["show", "job", &job.to_string()])?;
    let request = shown.split_whitespace().find_map(|word| word.strip_prefix("TresPerNode="));
    let request = request.unwrap_or_default();
    Ok(request.replace("gres:", "").replace("gres/", ""))
}

/// Waits until the database has these IPUs of a job, requested and allocated, as a size and as a number.
fn are_counted(cluster: &Cluster, job: JobId, ipus: &str) -> Result<()> {
    let (of_job, counts) =
        (job.to_string(), [format!("gres/vipu:{ipus}={ipus}"), format!("gres/vipu={ipus}")]);
    wait_until("the job's IPUs in the database", LIMIT, || {
        let sacct = cluster.command("sacct").args(&["-XnP", "-j", &of_job, "-oreqtres,alloctres"]);
        let listed = sacct.success()?.stdout;
        let are_right = |tres: &str| {
            let of_ipus: Vec<_> = tres.split(',').filter(|item| item.contains("vipu")).collect();
            of_ipus.len() == 2 && counts.iter().all(|count| of_ipus.contains(&count.as_str()))
        };
        Ok(listed.trim().split('|').filter(|tres| are_right(tres)).count() == 2)
    })
}

#[test]
fn mode_pool_numeric_requests_get_a_partition_of_their_size() -> Result<()> {
    let tres = "AccountingStorageTRES=gres/vipu,gres/vipu:16,gres/vipu:4";
    let offers = "vipu:16:no_consume:1,vipu:4:no_consume:1";
    let settings = with_pool("p4_*,p16_*").node_gres(1, offers).accounting().slurm_conf(tres);
    settings.run(|cluster| {
        administrator_makes(cluster, &PARTITIONS)?;
        for (request, ipus, partition, notice) in [
            ("--gres=vipu:16:1", "16", "p16_a", ""),
            ("--ipus=16", "16", "p16_a", ""),
            ("--gres=vipu:4", "4", "p4_a", "vipu: this is one partition of 4 IPUs; write --gres=vipu:4:1"),
        ] {
            let submitted = cluster.sbatch_command(SHOW, &[request])?.output()?;
            ensure!(submitted.code == 0, "{request}: {submitted:?}");
            ensure!(submitted.stderr.contains(notice), "{request}: {submitted:?}");
            ensure!(submitted.stderr.contains("vipu:") != notice.is_empty(), "{request}: {submitted:?}");
            let job = submitted.stdout.trim().rsplit([' ', '\n']).next().unwrap_or_default().parse()?;
            ended(cluster, job, "COMPLETED")?;
            ensure!(request_of(cluster, job)? == format!("vipu:{ipus}:1"), "{}", request_of(cluster, job)?);
            let shown = Shown::parse(&cluster.job_output(job))?;
            ensure!(shown.environment["SLURM_VIPU_PARTITION"] == partition, "{request}: {shown:?}");
            ensure!(shown.environment["SLURM_VIPU_MODEL"] == "vipu", "{request}: {shown:?}");
            are_counted(cluster, job, ipus)?;
        }
        // A waiting job is changed in the same words.
        let job = cluster.sbatch(SHOW, &["--gres=vipu:16:1", "--hold"])?;
        let update = |gres: &str| {
            let of_job = format!("JobId={job}");
            cluster.command("scontrol").args(&["update", &of_job, gres]).output()
        };
        ensure!(update("Gres=vipu:8:1")?.code != 0 && update("Gres=vipu:4:2")?.code != 0);
        ensure!(request_of(cluster, job)? == "vipu:16:1");
        ensure!(update("Gres=vipu:4")?.code == 0 && request_of(cluster, job)? == "vipu:4:1");
        cluster.scontrol(&["release", &job.to_string()])?;
        ended(cluster, job, "COMPLETED")?;
        let shown = Shown::parse(&cluster.job_output(job))?;
        ensure!(shown.environment["SLURM_VIPU_PARTITION"] == "p4_a", "{shown:?}");
        given_up(cluster, &["Mode=pool", "Pool=other_*"], &PARTITIONS.map(|(id, _)| id))
    })
}
