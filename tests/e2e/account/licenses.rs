//! The licence that counts IPUs (`Accounting` in vipu.conf).

use anyhow::{Result, bail, ensure};
use testbed::{Cluster, JobId, Settings, wait_until};

use super::page::{commands, run};
use super::{add_root, enforcing, ipus_in, limit, shows, uses};
use crate::LIMIT;
use crate::jobs::{
    brisk, cancel, ipus, let_go, restart_slurmctld, running, running_for, runs, update, waits,
};
use crate::see::svipu;

const OF_CLUSTER: &str = "Licenses=vipu:64,matlab:10";

fn counting(accounting: &str) -> Settings {
    let counted = "AccountingStorageTRES=gres/vipu,gres/vipu:pod64,license/vipu";
    let settings = enforcing().nodes(3).slurm_conf(counted).slurm_conf(OF_CLUSTER);
    settings.vipu_conf(&format!("Accounting={accounting}"))
}

fn licenses(cluster: &Cluster, job: JobId) -> Result<String> {
    let shown = cluster.scontrol(&["-o", "show", "job", &job.to_string()])?;
    let own = shown.split(' ').find_map(|word| word.strip_prefix("Licenses="));
    Ok(own.unwrap_or_default().to_owned())
}

fn has(cluster: &Cluster, job: JobId, expected: &str) -> Result<()> {
    let licenses = licenses(cluster, job)?;
    ensure!(licenses == expected, "job {job} has the licences {licenses}, not {expected}");
    Ok(())
}

#[test]
fn acct_licence_counts_a_job_once_and_follows_its_changes() -> Result<()> {
    counting("both").run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        limit(cluster, "limited", "MaxTRESPerUser=license/vipu=32")?;
        let two_nodes = running(cluster, 16, &["-N2", "-Lmatlab:2", "-qlimited"])?;
        has(cluster, two_nodes, "matlab:2,vipu:16")?;
        shows(cluster, two_nodes, 16)?;
        let other = running(cluster, 16, &["--exclusive", "-N1", "-qlimited"])?;
        has(cluster, other, "vipu:16")?;
        let third = ipus(cluster, 32, 10, &["-qlimited"])?;
        waits(cluster, third, "QOSMaxLicensePerUser")?;
        update(cluster, third, &["Licenses=matlab:1"])?;
        has(cluster, third, "matlab:1,vipu:32")?;
        update(cluster, third, &["Gres=vipu:pod64:16"])?;
        has(cluster, third, "matlab:1,vipu:16")?;
        let_go(cluster, other)?;
        runs(cluster, third)?;
        has(cluster, third, "matlab:1,vipu:16")?;
        let refused = cluster.command("sbatch").args(&["-Lvipu:4", "--wrap=true"]).output()?;
        let line = "the licence vipu:4 counts IPUs: ask for IPUs with --gres=vipu:<model>:<IPUs>";
        ensure!(refused.code != 0 && refused.stderr.contains(line), "{refused:?}");
        cancel(cluster, two_nodes)?;
        cancel(cluster, third)
    })
}

#[test]
fn acct_reservation_of_licences_keeps_ipus_free() -> Result<()> {
    let settings = brisk().nodes(2).vipu_conf("Accounting=license").slurm_conf("Licenses=vipu:64");
    settings.run(|cluster| {
        let of_page = commands(&["scontrol create"]);
        let [now, nightly] = &of_page[..] else { bail!("{of_page:?}") };
        run(cluster, nightly)?;
        cluster.scontrol(&["delete", "ReservationName=NIGHT"])?;
        run(cluster, now)?;
        let outside = running(cluster, 32, &[])?;
        let above = ipus(cluster, 1, 10, &[])?;
        waits(cluster, above, "Licenses")?;
        let inside = running(cluster, 32, &["--reservation=TALK"])?;
        let_go(cluster, inside)?;
        let_go(cluster, outside)?;
        runs(cluster, above)
    })
}

#[test]
fn acct_jobs_end_before_a_reservation_of_licences() -> Result<()> {
    let settings = brisk().vipu_conf("Accounting=license").slurm_conf("Licenses=vipu:64");
    settings.run(|cluster| {
        let window = ["StartTime=now+30minutes", "Duration=60", "Licenses=vipu:64", "Flags=ANY_NODES"];
        let create = ["create", "reservation", "ReservationName=NIGHT", "Users=root"];
        cluster.scontrol(&[&create[..], &window].concat())?;
        let long = ipus(cluster, 1, 60, &[])?;
        waits(cluster, long, "Licenses")?;
        // The forecast knows it, and svipu names it as the cause.
        let reserved = "A reservation keeps 64 IPUs free from ";
        wait_until("the reservation in svipu", LIMIT, || {
            Ok(svipu(cluster, &["why", &long.to_string()]).is_ok_and(|text| text.contains(reserved)))
        })?;
        let when = |minutes: &str| svipu(cluster, &["when", "--ipus=64", "-t", minutes]);
        let (short, long) = (when("10")?, when("60")?);
        ensure!(short.contains("could be had now"), "{short}");
        ensure!(long.contains("could be had at ") && long.contains("in 1 h "), "{long}");
        running_for(cluster, 64, 10, &[]).map(drop)
    })
}

/// Without a count of the GRES, and then without any count, as in stock Slurm.
#[test]
fn acct_licence_alone_leaves_the_gres_uncounted_and_off_counts_nothing() -> Result<()> {
    counting("license").run(|cluster| {
        add_root(cluster, &["normal"])?;
        let job = running(cluster, 16, &["-Lmatlab:2"])?;
        has(cluster, job, "matlab:2,vipu:16")?;
        uses(cluster, "normal", 0)?;
        let list = cluster.command("squeue").args(&["-hj", &job.to_string(), "-O", "tres-alloc:200"]);
        let list = list.success()?.stdout;
        ensure!(ipus_in(list.trim()) == [Some("0"); 2] && list.contains("license/vipu=16"), "{list}");
        // A running job keeps the licence of its IPUs.
        update(cluster, job, &["Licenses="])?;
        has(cluster, job, "vipu:16")?;
        let_go(cluster, job)?;
        cluster.write_vipu_conf(&["Accounting=off"])?;
        restart_slurmctld(cluster)?;
        let job = running(cluster, 16, &[])?;
        uses(cluster, "normal", 0)?;
        let licenses = licenses(cluster, job)?;
        ensure!(!licenses.contains("vipu"), "{licenses}");
        let_go(cluster, job)
    })
}
