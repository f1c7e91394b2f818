//! `slurm-vipu-setup leave`: the way back to the stock selector.

mod clean;
mod conf_lines;
mod files;
mod health_check;
mod jobs;
mod left;
mod partitions;
mod site;
#[cfg(test)]
mod tests;
mod tres;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::Args;

use site::Site;

/// Exactly one step of the way.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct Step {
    /// Show what is left, and what to do about it. Changes nothing.
    #[arg(long)]
    check: bool,
    /// Hold all waiting jobs with IPUs, and say why in their AdminComment.
    #[arg(long)]
    hold: bool,
    /// Cancel all waiting jobs with IPUs.
    #[arg(long)]
    cancel: bool,
    /// After SelectType was changed: remove partitions without a job, and the files of slurm-vipu.
    #[arg(long)]
    clean: bool,
}

pub fn run(step: &Step, slurm_conf: Option<&Path>) -> Result<ExitCode> {
    let site = Site::read(slurm_conf)?;
    match &site.settings {
        Err(why) if step.check || step.clean => bail!("{why}"),
        _ => {}
    }
    if step.check {
        return check(&site);
    } else if step.hold {
        jobs::hold(&site)?;
    } else if step.cancel {
        jobs::cancel(&site)?;
    } else if step.clean {
        clean(&site)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn clean(site: &Site) -> Result<()> {
    ensure!(
        !site.has_our_selector(),
        "{} still says {}: slurmctld uses these partitions and files; change it and restart slurmctld first",
        site.path.display(),
        site.select_type()
    );
    let running = site.running_select_type()?;
    ensure!(
        !running.starts_with("select/vipu"),
        "slurmctld still runs with {running}: restart it first, also the backup"
    );
    clean::run(site)
}

fn check(site: &Site) -> Result<ExitCode> {
    let jobs = jobs::read(site)?;
    let mut left = jobs::left(site, &jobs);
    left.extend(partitions::left(site)?);
    // The daemons need lines and files until SelectType is changed.
    let next = if site.has_our_selector() {
        conf_lines::to_change(site, &jobs)
    } else {
        left.extend(conf_lines::left(site, &jobs));
        left.extend(files::left(site));
        let last = "slurm-vipu can be uninstalled".to_owned();
        conf_lines::to_keep(site, &jobs).into_iter().chain([last]).collect()
    };
    left.iter().for_each(|left| println!("{left}"));
    if !site.has_our_selector() {
        // As long as the mark is there, it is left itself, so that `next` is not printed.
        health_check::note(site).iter().for_each(|note| println!("{note}"));
    }
    if left.is_empty() {
        println!("nothing is left");
        next.iter().for_each(|line| println!("{line}"));
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::from(1))
}
