//! The plugins and the release of Slurm: an unknown or foreign release is refused, and a table file makes one
//! known.

use std::{collections::BTreeSet, fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use slurm_release::{
    CONSTANTS, STRUCTS, Version,
    table_file::{self, Measured},
};
use testbed::{Cluster, Settings, main_job, programs};

use crate::jobs::{cancel, restart_slurmctld};
use crate::quick;

/// The log lines of slurmctld, and of the plugin, when slurmctld cannot load the plugin.
fn refusing() -> Settings {
    let of_slurm = [
        "select plugin",
        "specified plugin",
        "find plugin",
        "Incompatible",
        "select context",
        "selection plugin",
    ];
    of_slurm.into_iter().fold(quick(), Settings::expect_log).expect_log("select/vipu: ")
}

/// Starts slurmctld with a stock selector that claims to be of another release. Checks that slurmctld ends,
/// and returns the message of the plugin.
fn refusal(cluster: &Cluster, claimed: Version) -> Result<String> {
    cluster.stop_slurmctld()?;
    let mut selector = fs::read(programs::stock_plugins()?.join("select_cons_tres.so"))?;
    let real = programs::slurm_version()?.0.to_le_bytes();
    let places: Vec<_> =
        (0..selector.len() - 3).step_by(4).filter(|&at| selector[at..at + 4] == real).collect();
    ensure!(!places.is_empty(), "the stock selector has no version number");
    for at in places {
        selector[at..at + 4].copy_from_slice(&claimed.0.to_le_bytes());
    }
    let planted = cluster.layout().plugins().join("select_cons_tres.so");
    fs::write(&planted, selector)?;
    let output = cluster.command("slurmctld").args(&["-D"]).output();
    fs::remove_file(planted)?;
    cluster.start_slurmctld()?;
    let output = output?;
    // Slurm tries to load the plugin more than once.
    let said = output.stderr.lines().filter_map(|line| Some(line.split_once("select/vipu: ")?.1));
    let said: BTreeSet<_> = said.collect();
    ensure!(
        output.code != 0 && said.len() == 1,
        "slurmctld runs, or our plugin does not say one thing: {output:?}"
    );
    Ok(said.into_iter().collect())
}

/// A release of the running series that is in no table.
fn unknown() -> Result<Version> {
    Ok(Version(programs::slurm_version()?.0 | 0xff))
}

fn table_path(cluster: &Cluster) -> PathBuf {
    cluster.layout().conf(table_file::NAME)
}

/// Returns the measurements of the running release.
fn measured() -> Result<Measured> {
    let all: Value = serde_json::from_str(include_str!("../../../crates/slurm-release/layouts.json"))?;
    let version = programs::slurm_version()?.to_string();
    let id =
        all["releases"][&version].as_str().with_context(|| format!("Slurm {version} is not in the table"))?;
    let layout = &all["layouts"][id];
    let mut measured = Measured::new();
    for found in STRUCTS {
        measured.insert(found.name.into(), layout[found.name]["size"].to_string());
        for (member, kind) in found.members {
            let offset = &layout[found.name]["fields"][member][0];
            measured.insert(format!("{}.{member}", found.name), format!("{offset} {kind}"));
        }
    }
    measured.extend(CONSTANTS.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())));
    Ok(measured)
}

fn write_table(cluster: &Cluster, version: Version, measured: &Measured) -> Result<()> {
    Ok(fs::write(table_path(cluster), table_file::render(version, 99, measured))?)
}

#[test]
fn job_unknown_release_is_refused() -> Result<()> {
    refusing().run(|cluster| {
        let unknown = unknown()?;
        let said = refusal(cluster, unknown)?;
        for part in
            [&format!("Slurm {unknown} is not known"), "22.05.0-11, ", "cargo xtask layout", "there is no "]
        {
            ensure!(said.contains(part), "'{part}' is not in: {said}");
        }
        write_table(cluster, programs::slurm_version()?, &measured()?)?;
        let said = refusal(cluster, unknown)?;
        ensure!(said.contains("is of Slurm") && said.contains(table_file::NAME), "{said}");
        fs::write(table_path(cluster), "Release=1.2.3\n")?;
        let said = refusal(cluster, unknown)?;
        ensure!(said.contains("it is damaged (it has no checksum)"), "{said}");
        // The selector is of another series of Slurm.
        let running = programs::slurm_version()?.series();
        let said = refusal(cluster, Version(0x17_02_01))?;
        let wanted = format!("select_cons_tres.so is of Slurm 23.02.1, but this is Slurm {running}: install");
        ensure!(said.contains(&wanted), "{said}");
        Ok(())
    })
}

#[test]
fn job_table_file_is_used_unless_it_is_damaged() -> Result<()> {
    quick().expect_log("it is damaged").run(|cluster| {
        write_table(cluster, programs::slurm_version()?, &measured()?)?;
        restart_slurmctld(cluster)?;
        let used = format!("the layout of Slurm {} is read from", programs::slurm_version()?);
        ensure!(cluster.slurmctld_log().contains(&used), "nothing said of the table file");
        main_job::sbatch(cluster, 4)?;
        let text = fs::read_to_string(table_path(cluster))?;
        fs::write(table_path(cluster), &text[..text.len() / 2])?;
        restart_slurmctld(cluster)?;
        let log = cluster.slurmctld_log();
        ensure!(log.contains("what is built in for Slurm"), "nothing said of the damaged file");
        main_job::sbatch(cluster, 4).map(drop)
    })
}

/// Checks that an IPU job is refused at submit, or waits while another job starts.
fn does_not_start(cluster: &Cluster) -> Result<()> {
    let submit = ["--parsable", "--gres=vipu:pod64:4", "--wrap=true"];
    let submitted = cluster.command("sbatch").args(&submit).output()?;
    main_job::start_delay(cluster)?;
    let Ok(job) = submitted.stdout.trim().parse() else {
        ensure!(submitted.stderr.contains("has switched itself off"), "{submitted:?}");
        return Ok(());
    };
    let waiting = cluster.job(job)?;
    ensure!(waiting.state == "PENDING", "{waiting:?}");
    cancel(cluster, job)
}

/// Each table is wrong in another member for the running slurmctld.
#[test]
fn job_wrong_table_file_switches_the_plugin_off() -> Result<()> {
    let settings = quick().slurm_conf("SchedulerParameters=bf_interval=1").expect_log("no IPU job will");
    settings.run(|cluster| {
        let right = measured()?;
        for (member, other) in [
            ("job_record.prep_epilog_cnt", "job_record.magic"),
            ("slurm_conf.select_type", "slurm_conf.state_save_location"),
        ] {
            let mut wrong = right.clone();
            let kind = right[member].split_once(' ').context("place and kind")?.1;
            let place = right[other].split_once(' ').context("place and kind")?.0;
            wrong.insert(member.into(), format!("{place} {kind}"));
            write_table(cluster, programs::slurm_version()?, &wrong)?;
            restart_slurmctld(cluster)?;
            does_not_start(cluster).with_context(|| format!("with {member} at {place}"))?;
        }
        fs::remove_file(table_path(cluster))?;
        restart_slurmctld(cluster)?;
        main_job::sbatch(cluster, 4).map(drop)
    })
}

/// Slurm allows `MaxNodeCount` and dynamic nodes only under a SelectType that contains "cons_tres".
#[test]
fn job_alias_name_allows_dynamic_nodes() -> Result<()> {
    quick().alias().slurm_conf("MaxNodeCount=8").run(|cluster| {
        main_job::sbatch(cluster, 4)?;
        let scontrol = |words: &[&str]| cluster.command("scontrol").args(words).success();
        scontrol(&["create", "NodeName=dynamic-1", "CPUs=2", "State=CLOUD"])?;
        // The command fails if the node does not exist.
        scontrol(&["delete", "NodeName=dynamic-1"])?;
        main_job::sbatch(cluster, 4).map(drop)
    })
}
