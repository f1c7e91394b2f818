//! Sizes of the partitions of a pool as GRES types (`Gres=vipu:16:no_consume:4`), as the vendor's guide writes them.

use anyhow::{Result, ensure};
use testbed::{
    Account, Cluster, JobId, Settings,
    main_job::{SHOW, Shown},
    wait_until,
};

use super::pool::{administrator_makes, given_up, with_pool};
use crate::LIMIT;
use crate::jobs::ended;

const PARTITIONS: [(&str, u32); 2] = [("p4_a", 4), ("p16_a", 16)];

/// A cluster whose node offers sizes.
fn with_sizes(gres: &str) -> Settings {
    with_pool("p4_*,p16_*").node_gres(1, gres)
}

fn usual() -> Settings {
    with_sizes("vipu:16:no_consume:1,vipu:4:no_consume:1")
}

fn made(cluster: &Cluster) -> Result<()> {
    administrator_makes(cluster, &PARTITIONS)
}

/// Ends the pool, of which slurm-vipu has removed nothing.
fn ends(cluster: &Cluster) -> Result<()> {
    given_up(cluster, &["Mode=pool", "Pool=other_*"], &PARTITIONS.map(|(id, _)| id))
}

/// What Slurm keeps as the request of a job.
fn request_of(cluster: &Cluster, job: JobId) -> Result<String> {
    let shown = cluster.scontrol(&["show", "job", &job.to_string()])?;
    let request = shown.split_whitespace().find_map(|word| word.strip_prefix("TresPerNode="));
    let request = request.unwrap_or_default();
    Ok(request.replace("gres:", "").replace("gres/", ""))
}

#[test]
fn mode_pool_numeric_requests_get_a_partition_of_their_size() -> Result<()> {
    usual().run(|cluster| {
        made(cluster)?;
        for (request, canonical, partition, notice) in [
            ("--gres=vipu:16:1", "vipu:16:1", "p16_a", ""),
            ("--ipus=16", "vipu:16:1", "p16_a", ""),
            (
                "--gres=vipu:4",
                "vipu:4:1",
                "p4_a",
                "vipu: this is one partition of 4 IPUs; write --gres=vipu:4:1",
            ),
        ] {
            let submitted =
                cluster.sbatch_command(SHOW, &[request])?.account(&Account::named("root")?).output()?;
            ensure!(submitted.code == 0, "{request}: {submitted:?}");
            ensure!(submitted.stderr.contains(notice), "{request}: {submitted:?}");
            ensure!(submitted.stderr.contains("vipu:") != notice.is_empty(), "{request}: {submitted:?}");
            let job = submitted.stdout.trim().rsplit([' ', '\n']).next().unwrap_or_default().parse()?;
            ended(cluster, job, "COMPLETED")?;
            ensure!(request_of(cluster, job)? == canonical, "{request}: {}", request_of(cluster, job)?);
            let shown = Shown::parse(&cluster.job_output(job))?;
            ensure!(shown.environment["SLURM_VIPU_PARTITION"] == partition, "{request}: {shown:?}");
            ensure!(shown.environment["SLURM_VIPU_MODEL"] == "vipu", "{request}: {shown:?}");
        }
        ends(cluster)
    })
}

#[test]
fn mode_pool_numeric_requests_are_refused_with_the_valid_ones() -> Result<()> {
    usual().run(|cluster| {
        made(cluster)?;
        let sizes = "valid: --gres=vipu:4:1 or --gres=vipu:16:1";
        for (request, line) in [
            ("--gres=vipu:4:4", &*format!("a job has one partition, not 4; {sizes}")),
            ("--gres=vipu:8:1", &format!("there is no partition for 8 IPUs: the pool of vipu has partitions of 4 or 16 IPUs; {sizes}")),
            ("--ipus=8", &format!("there is no partition for 8 IPUs: the pool of vipu has partitions of 4 or 16 IPUs; {sizes}")),
            ("--gres=vipu:pod64:16", "there is no model pod64; valid: --gres=vipu:16:1"),
        ] {
            let refused = cluster.sbatch_command("true", &[request])?.output()?;
            ensure!(refused.code != 0 && refused.stderr.contains(line), "{request}: {refused:?}");
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
        ends(cluster)
    })
}

#[test]
fn mode_pool_numeric_ipus_are_counted_by_slurm() -> Result<()> {
    usual().accounting().slurm_conf("AccountingStorageTRES=gres/vipu,gres/vipu:16,gres/vipu:4").run(
        |cluster| {
            made(cluster)?;
            let job = cluster.sbatch(SHOW, &["--gres=vipu:16:1"])?;
            ended(cluster, job, "COMPLETED")?;
            let of_job = job.to_string();
            wait_until("the job's IPUs in the database", LIMIT, || {
                let listed = cluster
                    .command("sacct")
                    .args(&["-XnP", "-j", &of_job, "-oreqtres,alloctres"])
                    .success()?
                    .stdout;
                let counts = |tres: &str| {
                    tres.split(',')
                        .filter(|item| item.contains("vipu"))
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                };
                let both: Vec<_> = listed.trim().split('|').map(counts).collect();
                Ok(both.len() == 2 && both.iter().all(|tres| tres == &["gres/vipu:16=16", "gres/vipu=16"]))
            })?;
            ends(cluster)
        },
    )
}

/// slurmctld names the node and the element to write.
#[test]
fn mode_pool_numeric_offers_need_a_pool_and_no_consume() -> Result<()> {
    let errors = ["lacks no_consume", "nodes offer partitions by their size"];
    errors.into_iter().fold(with_sizes("vipu:16:1,vipu:4:1"), Settings::expect_log).run(|cluster| {
        let log = cluster.slurmctld_log();
        ensure!(
            log.contains("Gres=vipu:16:1 lacks no_consume")
                && log.contains("write Gres=vipu:16:no_consume:1"),
            "{log}"
        );
        made(cluster)?;
        cluster.write_vipu_conf(&[])?;
        cluster.reconfigure()?;
        let line = "model vipu: the earlier settings stay in force: ";
        wait_until("the error about the mode", LIMIT, || Ok(cluster.slurmctld_log().contains(line)))?;
        let checked = cluster.command("svipu").args(&["conf", "check"]).output()?;
        ensure!(
            checked.code != 0 && checked.stdout.contains("write Mode=pool and Pool=<partitions> here"),
            "{checked:?}"
        );
        ends(cluster)
    })
}
