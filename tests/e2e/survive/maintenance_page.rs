//! The commands and the script of docs/maintenance.md.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use testbed::{Account, Cluster, main_job, page, wait_until, write_program};

use crate::jobs::{ipus, let_go, logged, running, running_for, runs, waits};
use crate::{LIMIT, quick};

const PAGE: &str = include_str!("../../../docs/maintenance.md");

const NODE: &str = "ipu-pod64-001";

/// The script of the page.
fn script() -> Result<String> {
    let script = PAGE.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    Ok(script.context("the page has no script")?.to_owned())
}

/// The commands of the page that begin with these words, in their order.
fn commands(words: &str) -> Vec<String> {
    page::code(PAGE).filter(|line| line.starts_with(words)).collect()
}

/// Runs a command of the page as root. `names` has the names of this cluster for those of the page.
fn run(cluster: &Cluster, command: &str, names: &[(&str, &str)]) -> Result<String> {
    let command = names.iter().fold(command.to_owned(), |text, (from, to)| text.replace(from, to));
    let svipu = testbed::programs::find("svipu")?;
    let command = command.replace("svipu ", &format!("{} ", svipu.display()));
    let shell = cluster.command("sh").account(&Account::root()?).args(&["-c", &command]).success();
    Ok(shell.with_context(|| command.clone())?.stdout)
}

fn steer(cluster: &Cluster, words: &str, names: &[(&str, &str)]) -> Result<String> {
    let mut found = commands(words);
    found.dedup();
    let [command] = &found[..] else { anyhow::bail!("{words}: {found:?}") };
    run(cluster, command, names)
}

#[test]
fn cli_maintenance_drains_let_running_jobs_go_on() -> Result<()> {
    quick().run(|cluster| {
        let names = [("NODE", NODE), ("MODEL", "pod64"), ("NAME", "v-ipu")];
        let first = running(cluster, 16, &[])?;
        steer(cluster, "scontrol update NodeName=NODE State=DRAIN", &names)?;
        steer(cluster, "svipu drain MODEL --reason service", &names)?;
        let second = ipus(cluster, 16, 60, &[])?;
        ensure!(cluster.job(first)?.state == "RUNNING", "the job that was there before does not go on");
        cluster.await_node(1, |state| state.contains("DRAIN"))?;
        let resumes: Vec<_> = commands("scontrol update NodeName=NODE State=RESUME");
        run(cluster, &resumes[0], &names)?;
        waits(cluster, second, "vipu: pod64 is drained: service")?;
        steer(cluster, "scontrol update PartitionName=NAME State=DOWN", &names)?;
        steer(cluster, "svipu resume MODEL", &names)?;
        waits(cluster, second, "PartitionDown")?;
        cluster.scontrol(&["update", "PartitionName=v-ipu", "State=UP"])?;
        runs(cluster, second)?;
        let_go(cluster, second)?;
        let_go(cluster, first)
    })
}

#[test]
fn cli_maintenance_reservation_keeps_long_jobs_away() -> Result<()> {
    quick().run(|cluster| {
        let day = [("DAYT08:00:00", "now+30minutes"), ("ipu-[1-4]", "ALL")];
        let before = running_for(cluster, 16, 60, &[])?;
        steer(cluster, "scontrol create reservation", &day)?;
        let long = ipus(cluster, 16, 60, &[])?;
        waits(cluster, long, "ReqNodeNotAvail, Reserved for maintenance")?;
        let short = running_for(cluster, 16, 10, &[])?;
        ensure!(cluster.job(before)?.state == "RUNNING", "the reservation ended a job");
        steer(cluster, "scontrol delete", &[])?;
        runs(cluster, long)?;
        [before, long, short].into_iter().try_for_each(|job| let_go(cluster, job))
    })
}

#[test]
fn cli_maintenance_backup_is_restored() -> Result<()> {
    // Slurm ends the job of which the restored state knows nothing.
    quick().expect_log("named as ours are").expect_log("Orphan").run(|cluster| {
        let state = cluster.layout().state();
        let folder = tempfile::tempdir()?;
        let backup = folder.path().join("backup.tar");
        let names =
            [("STATESAVELOCATION", &*state.to_string_lossy()), ("BACKUP.tar", &*backup.to_string_lossy())];
        let first = running(cluster, 16, &[])?;
        cluster.stop_slurmctld()?;
        steer(cluster, "tar -c", &names)?;
        cluster.start_slurmctld()?;
        let lost = running(cluster, 8, &[])?;
        cluster.stop_slurmctld()?;
        empty(&state)?;
        steer(cluster, "tar -x", &names)?;
        cluster.start_slurmctld()?;
        runs(cluster, first)?;
        let partition = format!("slurm_{lost}");
        logged(cluster, &format!("partition {partition} (8 IPUs) is named as ours are"))?;
        cluster.may_be_lost(lost);
        steer(cluster, "svipu partition free", &[("PARTITION", &partition)])?;
        cluster.mock().await_removed(&partition, LIMIT)?;
        let files = cluster.layout().ipuof();
        steer(cluster, "rm -f", &[("PARTITION", &partition), ("IPUOFDIR", &files.to_string_lossy())])?;
        let_go(cluster, first)?;
        main_job::batch_ended(cluster, first, 16).map(drop)
    })
}

fn empty(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

#[test]
fn cli_maintenance_check_drains_a_node() -> Result<()> {
    let site = tempfile::tempdir()?;
    let (ipuof, device) = (site.path().join("ipuof"), site.path().join("infiniband/mlx5_0"));
    let (mark, program) = (ipuof.join(".vipu_cluster"), site.path().join("check-ipus.sh"));
    [&ipuof, &device].into_iter().try_for_each(fs::create_dir_all)?;
    fs::write(&mark, "")?;
    write_program(&program, "#!/bin/sh\n")?;
    let lines = ["HealthCheckProgram=", "HealthCheckInterval=", "HealthCheckNodeState="].map(commands);
    let settings = lines.concat().into_iter().fold(quick(), |settings, line| {
        let line = line.replace("/etc/slurm/check-ipus.sh", &program.to_string_lossy());
        settings.slurm_conf(&line.replace("=300", "=1"))
    });
    settings.run(|cluster| {
        let job = running(cluster, 16, &[])?;
        let slurm_conf = cluster.layout().conf("slurm.conf");
        let script = script()?
            .replace("PATH=", &format!("export SLURM_CONF={}\nPATH=", slurm_conf.display()))
            .replace("$(hostname -s)", NODE)
            .replace("/sys/class/infiniband", &site.path().join("infiniband").to_string_lossy())
            .replace("/shared/ipuof", &ipuof.to_string_lossy())
            .replace("CLUSTER", "cluster");
        fs::write(&program, script)?;
        fs::remove_file(&mark)?;
        drained(cluster, "IPUs: IpuofDir is not mounted")?;
        fs::write(&mark, "")?;
        fs::remove_dir(&device)?;
        // A drained node keeps its reason.
        wait_until("the other fault", LIMIT, || {
            if is_drained(cluster, "IPUs: IpuofDir is not mounted")? {
                cluster.update_node(1, &["State=RESUME"])?;
            }
            is_drained(cluster, "IPUs: no RDMA device")
        })?;
        ensure!(cluster.job(job)?.state == "RUNNING", "the drain ended a job");
        fs::create_dir(&device)?;
        let next = ipus(cluster, 16, 60, &[])?;
        wait_until("a job on the node that is resumed", LIMIT, || {
            // A check that began before may drain the node once more.
            if is_drained(cluster, "IPUs: no RDMA device")? {
                cluster.update_node(1, &["State=RESUME"])?;
            }
            Ok(cluster.job(next)?.state == "RUNNING")
        })?;
        let_go(cluster, job)?;
        let_go(cluster, next)
    })
}

#[test]
fn cli_maintenance_check_passes_a_node_without_ipus() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (scontrol, drained) = (folder.path().join("scontrol"), folder.path().join("drained"));
    let script = script()?.replace("PATH=", &format!("PATH={}:", folder.path().display()));
    for (gres, is_drained) in [("(null)", false), ("vipu:pod64:no_consume:64", true)] {
        let stand_in =
            format!("#!/bin/sh\n[ $1 = show ] && echo Gres={gres} || touch {}\n", drained.display());
        write_program(&scontrol, &stand_in.replace("(null)", "'(null)'"))?;
        Command::new("sh").args(["-c", &script]).status()?;
        ensure!(drained.exists() == is_drained, "with Gres={gres}, drained is not {is_drained}");
    }
    Ok(())
}

fn drained(cluster: &Cluster, reason: &str) -> Result<()> {
    wait_until(reason, LIMIT, || is_drained(cluster, reason))
}

fn is_drained(cluster: &Cluster, reason: &str) -> Result<bool> {
    let shown = cluster.scontrol(&["show", "node", NODE])?;
    Ok(shown.contains("DRAIN") && shown.contains(&format!("Reason={reason}")))
}
