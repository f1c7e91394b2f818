//! `slurm-vipu-setup leave`: the way back to the stock selector.

mod clean;
mod conf_lines;
mod files;
mod jobs;
mod left;
mod partitions;
mod site;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use site::Site;

/// A step of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Check,
    Hold,
    Cancel,
    Clean,
}

pub fn run(step: Step, slurm_conf: Option<&Path>) -> Result<ExitCode> {
    let site = Site::read(slurm_conf)?;
    match step {
        Step::Check => return check(&site),
        Step::Hold => jobs::hold(&site)?,
        Step::Cancel => jobs::cancel(&site)?,
        Step::Clean => {
            ensure!(
                !site.has_our_selector(),
                "{} still says {}: slurmctld uses these partitions and files; change it and restart slurmctld first",
                site.path.display(),
                site.select_type()
            );
            clean::run(&site)?;
        }
    }
    Ok(ExitCode::SUCCESS)
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
        vec!["slurm-vipu can be uninstalled".to_owned()]
    };
    left.iter().for_each(|left| println!("{left}"));
    if left.is_empty() {
        println!("nothing is left");
        next.iter().for_each(|line| println!("{line}"));
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::from(1))
}
