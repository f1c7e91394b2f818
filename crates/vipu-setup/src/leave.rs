//! `slurm-vipu-setup leave`: the way back to the stock selector.

mod conf_lines;
mod files;
mod jobs;
mod partitions;
mod site;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use driver::journal::LiveRecord;
use ipuof::IpuofDir;
use vipu_client::ErrorClass;

use partitions::Controller;
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
    remove_all(site)
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
        conf_lines::health_check_note(site).iter().for_each(|note| println!("{note}"));
    }
    if left.is_empty() {
        println!("nothing is left");
        next.iter().for_each(|line| println!("{line}"));
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::from(1))
}

/// The longest time that a controller may take to remove a partition.
const REMOVAL_LIMIT: Duration = Duration::from_secs(120);

/// The time between two looks at a partition that is being removed.
const PAUSE: Duration = Duration::from_millis(200);

pub fn remove_all(site: &Site) -> Result<()> {
    let journal = match &site.journal {
        Ok(journal) => journal,
        Err(why) => bail!("{}: {why}", site.journal_path().display()),
    };
    let jobs = jobs::read(site)?;
    let (in_use, unused): (Vec<_>, Vec<_>) =
        journal.iter().partition(|record| partitions::is_in_use(record, &jobs));
    let controllers = partitions::controllers(site)?;
    let runtime = partitions::runtime()?;
    let removed = |record: &LiveRecord| {
        runtime.block_on(remove(&controllers, record))?;
        remove_ipuof_files(record)
    };
    let failed = unused.into_iter().filter_map(|record| {
        removed(record).err().map(|why| format!("partition {}: {why:#}", record.claim.partition))
    });
    let failed: Vec<_> = failed.collect();
    ensure!(failed.is_empty(), "{}; mend this, and run this again", failed.join("; "));
    let in_use: Vec<_> = in_use.into_iter().map(|record| record.claim.partition.to_string()).collect();
    ensure!(in_use.is_empty(), "jobs still use {}; run this again after their end", in_use.join(" "));
    for path in files::written(site) {
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.with_context(|| format!("cannot remove {}", path.display()))?;
        println!("{}: removed", path.display());
    }
    Ok(())
}

/// Removes a partition, and waits until it is gone.
async fn remove(controllers: &[Controller], record: &LiveRecord) -> Result<()> {
    let (id, name) = (&record.claim.partition, record.claim.controller.to_string());
    let controller = controllers.iter().find(|controller| controller.name == name);
    let controller = controller.with_context(|| {
        format!("it is on controller {name}, which no vipu.conf names in ApiHost any more")
    })?;
    match controller.client.remove_partition(id, controller.force).await {
        Err(why) if why.class() == ErrorClass::NotFound => return Ok(()),
        removed => removed?,
    }
    let begun = Instant::now();
    loop {
        let answer = match controller.client.partition_status(id).await {
            Err(why) if why.class() == ErrorClass::NotFound => break,
            Err(why) => why.words().to_owned(),
            Ok(_) => "it is still there".to_owned(),
        };
        ensure!(begun.elapsed() < REMOVAL_LIMIT, "controller {name} does not get rid of it: {answer}");
        tokio::time::sleep(PAUSE).await;
    }
    println!("controller {name}: partition {id} removed");
    Ok(())
}

fn remove_ipuof_files(record: &LiveRecord) -> Result<()> {
    // A directory that is gone has no files.
    let Some(path) = record.ipuof_dir.as_ref().filter(|path| path.exists()) else { return Ok(()) };
    let directory = IpuofDir::open(path)?;
    Ok(directory.remove(&record.claim.partition, record.claim.shape.gcds)?)
}
