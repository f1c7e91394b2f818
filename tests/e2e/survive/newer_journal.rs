//! A slurmctld that finds the journal of a newer slurm-vipu, as after a way back that the versions do not allow.

use std::fs;

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId};

use super::backup::acts;
use crate::jobs::{brisk, ended, let_go, partition, running, runs, staying, waits};

/// The line of slurmctld's log and the reason of waiting jobs.
const NEWER: &str = "it is of version 99, and this slurm-vipu knows up to";

/// Changes the version in the header of the journal. Returns the journal as it was.
fn raise_version(cluster: &Cluster) -> Result<Vec<u8>> {
    let path = cluster.layout().state().join("vipu_journal");
    let text = fs::read(&path)?;
    let end = text.iter().position(|byte| *byte == b'\n').context("the journal has no line")?;
    let json = br#"{"journal":"slurm-vipu","version":99}"#;
    let header = [format!("{:08x} ", crc32fast::hash(json)).as_bytes(), json].concat();
    fs::write(&path, [&header, &text[end..]].concat())?;
    Ok(text)
}

/// Checks that the job with IPUs goes on, that another one waits with the reason, and that a job without IPUs runs.
fn stands_back(cluster: &Cluster, active: JobId) -> Result<JobId> {
    let waiting = staying(cluster, 4, &[])?;
    waits(cluster, waiting, "version 99")?;
    let without = cluster.sbatch("true", &[])?;
    ended(cluster, without, "COMPLETED")?;
    runs(cluster, active)?;
    ensure!(cluster.mock().partitions()? == [partition(active)]);
    Ok(waiting)
}

#[test]
fn pkg_journal_of_a_newer_version_is_left_alone() -> Result<()> {
    brisk().expect_log(NEWER).run(|cluster| {
        let active = running(cluster, 8, &[])?;
        cluster.stop_slurmctld()?;
        let journal = raise_version(cluster)?;
        cluster.start_slurmctld()?;
        let waiting = stands_back(cluster, active)?;
        let log = cluster.slurmctld_log();
        let errors = log.lines().filter(|line| line.contains("error: ") && line.contains(NEWER)).count();
        ensure!(errors == 1, "the reason is told {errors} times");
        cluster.stop_slurmctld()?;
        fs::write(cluster.layout().state().join("vipu_journal"), journal)?;
        cluster.start_slurmctld()?;
        runs(cluster, waiting)?;
        let_go(cluster, active)?;
        let_go(cluster, waiting)
    })
}

#[test]
fn pkg_backup_of_an_older_version_stands_back() -> Result<()> {
    brisk().backup().expect_log(NEWER).run(|cluster| {
        let active = running(cluster, 8, &[])?;
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        let journal = raise_version(cluster)?;
        cluster.await_takeover()?;
        let waiting = stands_back(cluster, active)?;
        fs::write(cluster.layout().state().join("vipu_journal"), journal)?;
        cluster.return_control()?;
        acts(cluster)?;
        runs(cluster, waiting)?;
        let_go(cluster, active)?;
        let_go(cluster, waiting)
    })
}
