//! The number of IPUs after a crash, a restart or a reconfigure of slurmctld.

use std::fs;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{Cluster, Failpoint, wait_until};
use vipu_client::Call;

use super::{add_root, enforcing, shows, uses, was_recorded, will_use};
use crate::LIMIT;
use crate::jobs::{begin_again, cancel, ipus, let_go, restart_slurmctld, running, runs, staying, waits};

/// Lets slurmctld write its file of the usage. 26.05 does not start without the file, and writes it at a stop and
/// every five minutes.
pub(crate) fn save_usage(cluster: &Cluster) -> Result<()> {
    restart_slurmctld(cluster)
}

#[test]
fn acct_usage_is_the_same_after_each_way_to_start_again() -> Result<()> {
    enforcing().nodes(2).run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        save_usage(cluster)?;
        super::limit(cluster, "limited", "MaxTRESPerUser=gres/vipu=32")?;
        let jobs = [running(cluster, 16, &["-qlimited"])?, running(cluster, 16, &["-qlimited", "-N2"])?];
        let third = ipus(cluster, 16, 10, &["-qlimited"])?;
        let same = || {
            jobs.iter().try_for_each(|job| shows(cluster, *job, 16))?;
            uses(cluster, "limited", 32)?;
            waits(cluster, third, "QOSMaxGRESPerUser")
        };
        same()?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld()?;
        same()?;
        restart_slurmctld(cluster)?;
        same()?;
        cluster.reconfigure()?;
        same()?;
        cancel(cluster, third)?;
        jobs.iter().try_for_each(|job| let_go(cluster, *job))?;
        uses(cluster, "limited", 0)?;
        jobs.iter().try_for_each(|job| was_recorded(cluster, *job, 16))?;
        nodes_have_all_their_ipus(cluster)
    })
}

/// Slurm saves a requeued job while its partition is being removed, and restores it with its old allocation.
#[test]
fn acct_a_job_that_was_saved_at_its_requeue_leaves_no_ipus_on_its_node() -> Result<()> {
    enforcing().nodes(1).expect_log("allocated no nodes to be killed on").run(|cluster| {
        add_root(cluster, &["normal"])?;
        save_usage(cluster)?;
        let job = running(cluster, 16, &["--requeue"])?;
        cluster.mock().inject(Fault::new(Effect::HeldReply { rpc: Some(Rpc(Call::RemovePartition)) }))?;
        cluster.scontrol(&["requeue", &job.to_string()])?;
        cluster.await_state(job, "COMPLETING", LIMIT)?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.mock().clear()?;
        cluster.start_slurmctld()?;
        // Later releases forget the pause of two minutes, too.
        begin_again(cluster, job).or_else(|_| runs(cluster, job))?;
        runs(cluster, job)?;
        shows(cluster, job, 16)?;
        restart_slurmctld(cluster)?;
        shows(cluster, job, 16)?;
        let_go(cluster, job)?;
        nodes_have_all_their_ipus(cluster)
    })
}

/// Checks that a job with all IPUs can start, and that no node shows any as in use.
fn nodes_have_all_their_ipus(cluster: &Cluster) -> Result<()> {
    let shown = cluster.scontrol(&["show", "node"])?;
    let used =
        shown.lines().filter(|line| line.trim_start().starts_with("AllocTRES=") && line.contains("vipu"));
    let used: Vec<_> = used.collect();
    ensure!(used.is_empty(), "no job runs, and nodes show {used:?}");
    let all = running(cluster, 64, &[])?;
    let_go(cluster, all)
}

/// slurmctld is killed at each step between the begin of a job and its launch. The IPUs count as long as the job
/// has nodes, and no longer.
#[test]
fn acct_usage_has_no_drift_after_a_kill_at_each_step_before_the_launch() -> Result<()> {
    let steps = ["begin", "intent", "create_acknowledged", "active", "files_written"];
    enforcing().nodes(2).failpoints().run(|cluster| {
        add_root(cluster, &["normal"])?;
        save_usage(cluster)?;
        for step in steps.map(Failpoint) {
            let job = staying(cluster, 16, &["-N2", "--hold"])?;
            cluster.await_saved()?;
            cluster.arm(step)?;
            // The answer does not come if slurmctld is stopped under its locks.
            let release = cluster.command("scontrol").args(&["release", &job.to_string()]).start()?;
            cluster.await_stopped(step)?;
            cluster.kill_slurmctld()?;
            cluster.let_pass(step)?;
            release.output(LIMIT)?;
            cluster.start_slurmctld()?;
            // Slurm refuses changes until slurmdbd has given the job an index.
            wait_until("Slurm to release the job", LIMIT, || {
                Ok(cluster.scontrol(&["release", &job.to_string()]).is_ok())
            })?;
            runs(cluster, job)?;
            shows(cluster, job, 16)?;
            uses(cluster, "normal", 16)?;
            let_go(cluster, job)?;
            uses(cluster, "normal", 0)?;
        }
        nodes_have_all_their_ipus(cluster)
    })
}

#[test]
fn acct_usage_is_the_same_for_a_backup_controller() -> Result<()> {
    enforcing().backup().run(|cluster| {
        add_root(cluster, &["normal"])?;
        save_usage(cluster)?;
        let first = running(cluster, 16, &[])?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.await_takeover()?;
        shows(cluster, first, 16)?;
        uses(cluster, "normal", 16)?;
        let second = running(cluster, 8, &[])?;
        uses(cluster, "normal", 24)?;
        [first, second].into_iter().try_for_each(|job| let_go(cluster, job))?;
        uses(cluster, "normal", 0)
    })
}

/// Slurm numbers the TRES of AccountingStorageTRES in the order in which the database got them. Each restart here
/// moves those of the IPUs.
#[test]
fn acct_usage_is_the_same_when_other_tres_come_and_go() -> Result<()> {
    const WITH: &str = "AccountingStorageTRES=gres/another,gres/vipu,gres/vipu:pod64";
    const WITHOUT: &str = "AccountingStorageTRES=gres/vipu,gres/vipu:pod64";
    // The nodes keep the first slurm.conf.
    enforcing().nodes(2).slurm_conf(WITH).expect_log("different slurm.conf").run(|cluster| {
        add_root(cluster, &["normal"])?;
        let jobs = [running(cluster, 16, &[])?, running(cluster, 16, &["-N2"])?];
        let shown = cluster.scontrol(&["show", "assoc_mgr", "flags=qos", "qos=normal"])?;
        ensure!(shown.find("gres/another") < shown.find("gres/vipu"), "the other is not first: {shown}");
        let conf = cluster.layout().conf("slurm.conf");
        let text = fs::read_to_string(&conf)?;
        for list in [WITHOUT, WITH] {
            fs::write(&conf, text.replace(WITH, list))?;
            restart_slurmctld(cluster)?;
            jobs.iter().try_for_each(|job| shows(cluster, *job, 16))?;
            uses(cluster, "normal", 32)?;
        }
        let third = running(cluster, 8, &[])?;
        uses(cluster, "normal", 40)?;
        jobs.iter().chain([&third]).try_for_each(|job| let_go(cluster, *job))?;
        uses(cluster, "normal", 0)?;
        jobs.iter().try_for_each(|job| was_recorded(cluster, *job, 16))
    })
}

/// A slurm-vipu that counts takes over from one that did not. `Accounting=off` leaves Slurm's records as a build
/// without counts does.
#[test]
fn acct_usage_after_an_upgrade_is_that_of_the_jobs_that_start_after_it() -> Result<()> {
    enforcing().nodes(2).vipu_conf("Accounting=off").run(|cluster| {
        add_root(cluster, &["normal"])?;
        let before = running(cluster, 16, &["-N2"])?;
        let waiting = staying(cluster, 64, &["--hold"])?;
        uses(cluster, "normal", 0)?;
        cluster.write_vipu_conf(&["Accounting=gres"])?;
        restart_slurmctld(cluster)?;
        let after = running(cluster, 16, &["-N2"])?;
        shows(cluster, before, 0)?;
        shows(cluster, after, 16)?;
        uses(cluster, "normal", 16)?;
        let_go(cluster, before)?;
        uses(cluster, "normal", 16)?;
        let_go(cluster, after)?;
        cluster.scontrol(&["release", &waiting.to_string()])?;
        runs(cluster, waiting)?;
        shows(cluster, waiting, 64)?;
        uses(cluster, "normal", 64)?;
        cancel(cluster, waiting)?;
        will_use(cluster, "normal", 0)?;
        was_recorded(cluster, after, 16)?;
        nodes_have_all_their_ipus(cluster)
    })
}
