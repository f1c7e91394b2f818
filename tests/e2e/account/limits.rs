//! Slurm's own limits on IPUs, with Slurm's own reasons.

use anyhow::{Context, Result, ensure};
use testbed::{next_second, wait_until};

use super::{add_root, enforcing, limit, sacctmgr, shows, uses, will_use};
use crate::LIMIT;
use crate::jobs::{cancel, ended, ipus, let_go, running, runs, update, waits};

#[test]
fn acct_limits_of_a_qos_hold_with_slurms_reasons() -> Result<()> {
    let limits = [
        ("MaxTRESPerUser=gres/vipu=32", "QOSMaxGRESPerUser"),
        ("MaxTRESPerUser=gres/vipu:pod64=32", "QOSMaxGRESPerUser"),
        ("MaxTRESPerAccount=gres/vipu=32", "MaxGRESPerAccount"),
        ("GrpTRES=gres/vipu=32", "QOSGrpGRES"),
        ("GrpTRES=gres/vipu:pod64=32", "QOSGrpGRES"),
        ("GrpTRESRunMins=gres/vipu=320", "QOSGrpGRESRunMinutes"),
    ];
    enforcing().nodes(2).run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        for (set, reason) in limits {
            limit(cluster, "limited", set)?;
            let of_ten_minutes = |nodes: &str| ipus(cluster, 16, 10, &["-qlimited", nodes]);
            let (one, two) = (of_ten_minutes("-N1")?, of_ten_minutes("-N2")?);
            runs(cluster, one)?;
            runs(cluster, two)?;
            let third = of_ten_minutes("-N2")?;
            waits(cluster, third, reason)?;
            uses(cluster, "limited", 32)?;
            // A job of another QOS finds the free IPUs.
            let other = ipus(cluster, 32, 10, &["-qnormal"])?;
            runs(cluster, other)?;
            let_go(cluster, one)?;
            cancel(cluster, other)?;
            runs(cluster, third).with_context(|| format!("under {set}"))?;
            let_go(cluster, two)?;
            let_go(cluster, third)?;
            let none = set.rsplit_once('=').context("a limit has a number")?.0;
            limit(cluster, "limited", &format!("{none}=-1"))?;
        }
        uses(cluster, "limited", 0)
    })
}

/// Slurm adds up usage with priority/multifactor alone.
#[test]
fn acct_hours_of_a_qos_run_out() -> Result<()> {
    enforcing().slurm_conf("PriorityType=priority/multifactor").run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        limit(cluster, "limited", "GrpTRESMins=gres/vipu=1")?;
        let first = running(cluster, 64, &["-qlimited"])?;
        // 64 IPUs use more than an IPU minute in a second.
        (0..2).try_for_each(|_| next_second())?;
        let_go(cluster, first)?;
        let second = ipus(cluster, 1, 10, &["-qlimited", "-N1"])?;
        waits(cluster, second, "QOSGrpGRESMinutes")?;
        limit(cluster, "limited", "GrpTRESMins=gres/vipu=600000")?;
        runs(cluster, second)?;
        let_go(cluster, second)
    })
}

#[test]
fn acct_limits_of_an_association_hold_with_slurms_reasons() -> Result<()> {
    enforcing().nodes(2).run(|cluster| {
        add_root(cluster, &["normal"])?;
        sacctmgr(cluster, &["modify", "account", "root", "set", "GrpTRES=gres/vipu=16"])?;
        wait_until("the limit in slurmctld", LIMIT, || {
            let shown = cluster.scontrol(&["show", "assoc_mgr", "flags=assoc", "accounts=root"])?;
            Ok(shown.contains("gres/vipu=16("))
        })?;
        let on_two = running(cluster, 16, &["-N2"])?;
        let second = ipus(cluster, 1, 10, &[])?;
        waits(cluster, second, "AssocGrpGRES")?;
        let_go(cluster, on_two)?;
        runs(cluster, second)?;
        let_go(cluster, second)
    })
}

#[test]
fn acct_a_job_above_its_limit_keeps_no_ipus_from_others() -> Result<()> {
    enforcing().run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        limit(cluster, "limited", "MaxTRESPerUser=gres/vipu=32")?;
        let first = running(cluster, 32, &["-qlimited"])?;
        // The whole Pod would have to drain for the second job, if it were in line.
        let second = ipus(cluster, 32, 10, &["-qlimited", "--priority=1000000"])?;
        waits(cluster, second, "QOSMaxGRESPerUser")?;
        let other = running(cluster, 32, &["-qnormal"])?;
        waits(cluster, second, "QOSMaxGRESPerUser")?;
        [first, other].into_iter().try_for_each(|job| let_go(cluster, job))?;
        runs(cluster, second)?;
        let_go(cluster, second)
    })
}

#[test]
fn acct_whole_nodes_are_not_held_by_a_limit_on_ipus() -> Result<()> {
    enforcing().nodes(3).run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        limit(cluster, "limited", "MaxTRESPerUser=gres/vipu=32")?;
        let without = cluster.sbatch("sleep 300", &["-qlimited", "--exclusive"])?;
        runs(cluster, without)?;
        let first = running(cluster, 16, &["-qlimited", "--exclusive"])?;
        shows(cluster, first, 16)?;
        let above = ipus(cluster, 32, 10, &["-qlimited", "--exclusive"])?;
        waits(cluster, above, "QOSMaxGRESPerUser")?;
        let second = running(cluster, 16, &["-qlimited", "--exclusive"])?;
        uses(cluster, "limited", 32)?;
        // The limit was waived for the jobs that have begun, and for no later one.
        cancel(cluster, without)?;
        let third = ipus(cluster, 1, 10, &["-qlimited"])?;
        waits(cluster, third, "QOSMaxGRESPerUser")?;
        cancel(cluster, above)?;
        let_go(cluster, first)?;
        runs(cluster, third)?;
        [second, third].into_iter().try_for_each(|job| let_go(cluster, job))?;
        uses(cluster, "limited", 0)
    })
}

#[test]
fn acct_tasks_with_whole_nodes_keep_to_the_limit() -> Result<()> {
    enforcing().nodes(3).run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        limit(cluster, "limited", "MaxTRESPerUser=gres/vipu=32")?;
        let args = ["-qlimited", "--exclusive", "--array=0-2", "--gres=vipu:pod64:16"];
        let array = crate::jobs::submit(cluster, &args)?;
        will_use(cluster, "limited", 32)?;
        waits(cluster, array, "QOSMaxGRESPerUser")?;
        uses(cluster, "limited", 32)
    })
}

#[test]
fn acct_nobody_holds_by_prepare_what_limits_do_not_give() -> Result<()> {
    enforcing().vipu_conf("Prepare=all").create_time(std::time::Duration::from_secs(2)).run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        limit(cluster, "limited", "MaxTRESPerUser=gres/vipu=16")?;
        let jobs = [(); 3].map(|()| ipus(cluster, 16, 10, &["-qlimited"]));
        let [first, second, third] = jobs;
        let (first, second, third) = (first?, second?, third?);
        runs(cluster, first)?;
        for waiting in [second, third] {
            waits(cluster, waiting, "QOSMaxGRESPerUser")?;
        }
        let made = cluster.mock().report()?.partitions;
        ensure!(made.len() == 1, "more than the partition of job {first} was made: {made:?}");
        let_go(cluster, first)?;
        for (number, job) in [(2, second), (3, third)] {
            runs(cluster, job)?;
            let made = cluster.mock().report()?.partitions;
            ensure!(made.len() == number, "more than the partition of job {job} was made: {made:?}");
            let_go(cluster, job)?;
        }
        uses(cluster, "limited", 0)
    })
}

#[test]
fn acct_a_request_above_a_limit_per_job_is_refused_or_waits() -> Result<()> {
    enforcing().nodes(2).run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        limit(cluster, "limited", "MaxTRESPerJob=gres/vipu=16")?;
        let on_two = cluster.sbatch("true", &["-qlimited", "-N2", "--gres=vipu:pod64:16"])?;
        ended(cluster, on_two, "COMPLETED")?;
        let large = ipus(cluster, 32, 10, &["-qlimited"])?;
        waits(cluster, large, "QOSMaxGRESPerJob")?;
        update(cluster, large, &["Gres=vipu:pod64:16"])?;
        runs(cluster, large)?;
        let_go(cluster, large)?;
        sacctmgr(cluster, &["modify", "qos", "limited", "set", "Flags=DenyOnLimit"])?;
        let refused = || {
            let sbatch =
                cluster.command("sbatch").args(&["-qlimited", "--gres=vipu:pod64:32", "--wrap", "true"]);
            Ok(sbatch.output()?.stderr.contains("QOSMaxGRESPerJob"))
        };
        wait_until("the refusal of a submit", LIMIT, refused)
    })
}
