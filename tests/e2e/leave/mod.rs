//! The way from the stock selector, and the way back to it, as docs/leaving.md describes it.

mod first_installation;
mod in_order;
mod without_plugins;

use std::fs;

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, Output};

use crate::jobs::ended;

/// Runs `slurm-vipu-setup leave` with this step as root.
fn leave(cluster: &Cluster, step: &str) -> Result<Output> {
    cluster.command("slurm-vipu-setup").args(&["leave", step]).output()
}

/// Runs a step that has to succeed, and returns its output.
fn succeeds(cluster: &Cluster, step: &str) -> Result<String> {
    let output = leave(cluster, step)?;
    ensure!(output.code == 0, "leave {step}: {output:?}");
    Ok(output.stdout)
}

/// Edits a file beside slurm.conf, in which each text has to be.
fn edit(cluster: &Cluster, file: &str, changes: &[(&str, &str)]) -> Result<()> {
    let path = cluster.layout().conf(file);
    let mut text = fs::read_to_string(&path)?;
    for (from, to) in changes {
        ensure!(text.contains(from), "{file} has no {from}: {text}");
        text = text.replace(from, to);
    }
    Ok(fs::write(&path, text)?)
}

/// The lines of slurm.conf that belong to the selector.
const SELECTOR: [(&str, &str); 3] =
    [("select/vipu", "select/cons_tres"), ("other_cons_tres,", ""), ("JobSubmitPlugins=vipu\n", "")];

/// Changes SelectType to the stock selector.
fn use_stock_selector(cluster: &Cluster) -> Result<()> {
    let path = cluster.layout().conf("v-ipu-plugin.conf");
    let text = fs::read_to_string(&path).context("the lines of slurm-vipu")?;
    // Only releases up to 23.11 have it.
    let is_there = |from: &str| from != "other_cons_tres," || text.contains(from);
    let changes: Vec<_> = SELECTOR.into_iter().filter(|(from, _)| is_there(from)).collect();
    edit(cluster, "v-ipu-plugin.conf", &changes)
}

/// Removes the IPUs of the nodes, and the line of the SPANK plugin.
fn remove_ipus(cluster: &Cluster) -> Result<()> {
    edit(cluster, "v-ipu-plugin.conf", &[(" Gres=vipu:pod64:no_consume:64", "")])?;
    Ok(fs::write(cluster.layout().conf("plugstack.conf"), "")?)
}

/// Starts the daemons again, with the changed files. Job steps go on.
fn start_stock(cluster: &Cluster) -> Result<()> {
    cluster.restart_slurmd(1)?;
    cluster.start_slurmctld()
}

/// Runs a job without IPUs, which finds no trace of slurm-vipu.
fn runs_a_stock_job(cluster: &Cluster) -> Result<()> {
    let job = cluster.sbatch("env", &[])?;
    ended(cluster, job, "COMPLETED")?;
    let environment = cluster.job_output(job);
    let trace = environment.lines().find(|line| line.contains("VIPU") || line.contains("IPUOF"));
    ensure!(trace.is_none() && environment.contains("SLURM_JOB_ID="), "{trace:?} in {environment}");
    Ok(())
}
