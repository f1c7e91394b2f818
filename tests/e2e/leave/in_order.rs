//! Leaving in order: no job with IPUs waits or runs when SelectType changes.

use std::fs;

use anyhow::{Result, ensure};
use testbed::{Cluster, wait_until};

use super::{edit, leave, remove_ipus, runs_a_stock_job, start_stock, succeeds, use_stock_selector};
use crate::LIMIT;
use crate::jobs::{brisk, cancel, ended, let_go, partition, running, runs, staying, submit};

#[test]
fn pkg_leave_in_order_leaves_nothing() -> Result<()> {
    brisk().vipu_conf("MaxKeep=600").run(|cluster| {
        frees_a_kept_partition(cluster)?;
        let active = running(cluster, 64, &[])?;
        cluster.command("svipu").args(&["drain", "pod64", "--reason", "leaving"]).success()?;
        let waiting = staying(cluster, 4, &[])?;
        let array = staying(cluster, 4, &["--array=1-3"])?;
        cluster.command("scancel").args(&[&format!("{array}_1")]).success()?;
        let het = submit(cluster, &["--gres=vipu:pod64:4", ":", "--gres=vipu:pod64:4"])?;
        let of_user = staying(cluster, 4, &["--hold"])?;
        let without_ipus = submit(cluster, &[])?;
        runs(cluster, without_ipus)?;

        let checked = leave(cluster, "--check")?;
        ensure!(checked.code == 1, "{checked:?}");
        for words in [
            format!("jobs: 4 jobs wait with IPUs: {waiting} {array} {het} {of_user}; "),
            format!("jobs: 1 job has IPUs: {active}; wait for the end"),
            format!("partitions slurm_{active}; "),
        ] {
            ensure!(checked.stdout.contains(&words), "'{words}' is not in: {checked:?}");
        }
        let refused = leave(cluster, "--clean")?;
        ensure!(
            refused.code == 2 && refused.stderr.contains("still says SelectType=select/vipu"),
            "{refused:?}"
        );

        let held = succeeds(cluster, "--hold")?;
        ensure!(held == format!("held: {waiting} {array} {het} {of_user}\n"), "{held}");
        let_go(cluster, active)?;
        cluster.mock().await_removed(&partition(active), LIMIT)?;
        let checked = succeeds(cluster, "--check")?;
        for words in [
            "nothing is left",
            "select/vipu; write the stock selector",
            "keep vipu in GresTypes for now",
            "PluginDir has ",
        ] {
            ensure!(checked.contains(words), "'{words}' is not in: {checked}");
        }

        use_stock_selector(cluster)?;
        let refused = leave(cluster, "--clean")?;
        ensure!(refused.code == 2 && refused.stderr.contains("still runs with select/vipu"), "{refused:?}");
        cluster.stop_slurmctld()?;
        remove_ipus(cluster)?;
        let plugins = cluster.layout().plugins();
        edit(cluster, "slurm.conf", &[(&format!("{}:", plugins.display()), "")])?;
        fs::remove_dir_all(plugins)?;
        start_stock(cluster)?;
        let log = cluster.slurmctld_log();
        ensure!(!log.contains("gres_job_state_unpack"), "stock Slurm complains of IPU jobs: {log}");
        for job in [waiting, array, het, of_user] {
            let held = cluster.job(job)?;
            ensure!(held.state == "PENDING" && held.reason == "JobHeldAdmin", "{held:?}");
            let shown = cluster.scontrol(&["show", "job", &job.to_string()])?;
            ensure!(shown.contains("AdminComment=slurm-vipu leaves this cluster"), "{shown}");
        }
        runs_a_stock_job(cluster)?;
        let_go(cluster, without_ipus)?;

        let checked = leave(cluster, "--check")?;
        ensure!(
            checked.code == 1 && checked.stdout.contains("vipu_journal: slurm-vipu wrote it"),
            "{checked:?}"
        );
        succeeds(cluster, "--clean")?;
        for file in ["vipu.conf", "pod64.conf"] {
            fs::remove_file(cluster.layout().conf(file))?;
        }
        let checked = succeeds(cluster, "--check")?;
        let words =
            ["nothing is left\n", "keep vipu in GresTypes for now", "slurm-vipu can be uninstalled\n"];
        ensure!(words.iter().all(|words| checked.contains(words)), "{checked}");
        for folder in [cluster.layout().state(), cluster.layout().ipuof()] {
            let names = fs::read_dir(&folder)?.flatten().map(|entry| entry.file_name());
            let ours: Vec<_> = names.filter(|name| name.to_string_lossy().contains("vipu")).collect();
            ensure!(ours.is_empty(), "in {}: {ours:?}", folder.display());
        }
        for job in [waiting, array, het, of_user] {
            cancel(cluster, job)?;
        }
        ended(cluster, waiting, "CANCELLED")?;
        forgets_the_gres(cluster)
    })
}

/// Waits until slurmctld knows no job with IPUs any more, and then removes `vipu` from GresTypes.
fn forgets_the_gres(cluster: &Cluster) -> Result<()> {
    cluster.jobs()?.iter().for_each(|job| cluster.may_be_lost(job.id));
    cluster.expect_log("different slurm.conf");
    edit(cluster, "slurm.conf", &[("MinJobAge=86400", "MinJobAge=2")])?;
    cluster.stop_slurmctld()?;
    cluster.start_slurmctld()?;
    // Slurm looks for old jobs once a minute.
    wait_until("the check to list GresTypes", 3 * LIMIT, || {
        Ok(leave(cluster, "--check")?.stdout.contains("GresTypes has vipu; remove vipu"))
    })?;
    cluster.expect_log("gres_node_state_unpack: no plugin configured");
    edit(cluster, "v-ipu-plugin.conf", &[("GresTypes=vipu\n", "")])?;
    edit(cluster, "slurm.conf", &[("MinJobAge=2", "MinJobAge=86400")])?;
    cluster.stop_slurmctld()?;
    start_stock(cluster)?;
    runs_a_stock_job(cluster)?;
    let checked = succeeds(cluster, "--check")?;
    ensure!(!checked.contains("GresTypes"), "{checked}");
    Ok(())
}

#[test]
fn pkg_leave_cancels_waiting_jobs_only() -> Result<()> {
    brisk().run(|cluster| {
        let active = running(cluster, 64, &[])?;
        let waiting = [staying(cluster, 4, &[])?, staying(cluster, 4, &["--hold"])?];
        let cancelled = succeeds(cluster, "--cancel")?;
        ensure!(cancelled == format!("cancelled: {} {}\n", waiting[0], waiting[1]), "{cancelled}");
        for job in waiting {
            ended(cluster, job, "CANCELLED")?;
        }
        ensure!(cluster.job(active)?.state == "RUNNING", "{:?}", cluster.job(active)?);
        let_go(cluster, active)
    })
}

/// Checks that the check knows until when a partition is kept, and frees it.
fn frees_a_kept_partition(cluster: &Cluster) -> Result<()> {
    let failed = cluster.sbatch("exit 3", &["--ipus=16", "--ipu-keep=600s"])?;
    cluster.await_end(failed, LIMIT)?;
    let kept = partition(failed);
    let checked = leave(cluster, "--check")?;
    ensure!(checked.stdout.contains(&format!("partitions {kept} (kept until 2")), "{checked:?}");
    cluster.command("svipu").args(&["partition", "free", &kept, "--reason", "leaving"]).success()?;
    cluster.mock().await_removed(&kept, LIMIT).map(drop)
}
