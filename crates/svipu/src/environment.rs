//! `svipu env`: the variables with which programs find the IPUs of a job.
//!
//! The SPANK plugin gives them to the tasks of a job. A shell that sshd started lacks them.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use ipuof::file_name;
use ipuof::variables::{CONFIG_PATH, FAMILIES, of_api};
use nix::fcntl::OFlag;
use vipu_status::{Partition, State};
use vipu_types::{Delivery, Grant, IpuCount, ModelName, PartitionId, Words, words};

use crate::container_options::is_plain;
use crate::error::Failure;
use crate::job::{self, Found};
use crate::view::View;
use crate::{find_document, names, safe};

/// The GCDs of a partition at most. A GCD has an IPU at least.
const MOST_GCDS: u32 = 1024;

/// The page of the command: commands for a shell, or an object with the variables as JSON.
pub(crate) fn show(view: &View<'_>, job: Option<&str>, gcd: u32) -> Result<String, Failure> {
    page(view, variables(view, job, gcd)?)
}

/// The variables, by name.
pub(crate) fn variables(
    view: &View<'_>,
    job: Option<&str>,
    gcd: u32,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let partition = partition(view, job)?;
    let name = names::job(partition.job.as_deref());
    let refused = |why: String| Failure::NoIpus { job: name.clone(), why };
    let mut grant = grant(partition)
        .ok_or_else(|| refused("has a partition with facts that no partition can have".to_owned()))?;
    let no_gcd = |gcds: u32| refused(format!("has no GCD {gcd}: its last one is GCD {}", gcds - 1));
    let model = view.all.models.iter().find(|model| model.name == partition.model);
    if let Some(shared) = model.and_then(|model| model.shared_partition.as_deref()) {
        (grant.delivery, grant.shared) = (Delivery::Api, PartitionId::new(shared).ok());
        if gcd >= grant.gcds {
            return Err(no_gcd(grant.gcds));
        }
        return Ok(with_grant(of_api(&grant, gcd), &grant, gcd));
    }
    let directory = find_document::ipuof_dir(view.surroundings).ok_or_else(|| {
        refused(
            "has no IPUoF file that svipu can find: plugstack.conf on this host has no ipuof_dir=".to_owned(),
        )
    })?;
    grant.gcds = gcds(&directory, &grant.partition).ok_or_else(|| {
        refused(match partition.state {
            State::Creating => "does not run yet: its partition is being created".to_owned(),
            _ => no_file(&directory, &grant),
        })
    })?;
    if gcd >= grant.gcds {
        return Err(no_gcd(grant.gcds));
    }
    let file = directory.join(file_name(&grant.partition, gcd, grant.gcds));
    check(&file).map_err(|why| Failure::Unreadable(file.clone(), why))?;
    Ok(with_grant(vec![(CONFIG_PATH, file.display().to_string())], &grant, gcd))
}

/// The variables with those that tell a script of the grant.
fn with_grant(
    variables: Vec<(&'static str, String)>,
    grant: &Grant,
    gcd: u32,
) -> Vec<(&'static str, String)> {
    let [own_gcd, ..] = Grant::NAMES_IN_TASK;
    variables.into_iter().chain(grant.named()).chain([(own_gcd, gcd.to_string())]).collect()
}

/// Commands for a shell, or an object with the variables as JSON.
fn page(view: &View<'_>, variables: Vec<(&'static str, String)>) -> Result<String, Failure> {
    if view.common.json {
        let object: serde_json::Map<_, _> =
            variables.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        return Ok(serde_json::to_string_pretty(&object)? + "\n");
    }
    Ok(commands(view, &variables))
}

/// The running partition of a job of the caller.
fn partition<'a>(view: &'a View<'_>, job: Option<&str>) -> Result<&'a Partition, Failure> {
    let caller = view.surroundings.user;
    let inside = view.surroundings.variable("SLURM_JOB_ID").and_then(|id| id.to_str()).map(str::to_owned);
    let is_inside = job.is_none();
    let Some(id) = job.map(str::to_owned).or(inside) else { return only_one(view) };
    let Found { mut partitions, .. } = job::find(view, &id)?;
    // The variable has the id of the job alone, also if it is that of an array or a heterogeneous job.
    let is_exact = |entry: &&Partition| entry.job.as_deref().is_some_and(|it| it.id.to_string() == id);
    if is_inside && partitions.iter().any(is_exact) {
        partitions.retain(is_exact);
    }
    let refused = |why: String| Failure::NoIpus { job: safe::cut(&id, 40), why };
    let own: Vec<_> = partitions
        .iter()
        .copied()
        .filter(|entry| entry.job.as_deref().is_some_and(|it| it.user == caller))
        .collect();
    let running: Vec<_> = own.iter().copied().filter(|entry| is_usable(entry)).collect();
    match (&*running, own.first(), partitions.first()) {
        ([partition], ..) => Ok(partition),
        ([], Some(entry), _) => {
            Err(refused(format!("does not run: its partition is {}", entry.state.name())))
        }
        ([], None, Some(entry)) => Err(refused(format!(
            "is a job of {}; only its user can use its IPUs",
            view.user(entry.job.as_deref())
        ))),
        ([], None, None) => Err(refused("waits for its IPUs: see svipu why".to_owned())),
        _ => Err(which(&running).into()),
    }
}

/// The only running partition of the caller.
fn only_one<'a>(view: &'a View<'_>) -> Result<&'a Partition, Failure> {
    let own = |entry: &&Partition| {
        is_usable(entry)
            && entry.state != State::Kept
            && entry.job.as_deref().is_some_and(|job| job.user == view.surroundings.user)
    };
    let running: Vec<_> = view.chosen.partitions.iter().filter(own).collect();
    match &*running {
        [partition] => Ok(partition),
        [] => Err(Failure::Words("the document names no job of yours that runs on IPUs".into())),
        _ => Err(which(&running).into()),
    }
}

/// Whether programs can use the partition, if it has its files. The job of a partition that is being created may
/// run by now. A kept one is for those who look into the failure of its job.
fn is_usable(partition: &Partition) -> bool {
    matches!(partition.state, State::Creating | State::Ready | State::Running | State::Kept)
}

fn which(partitions: &[&Partition]) -> Words {
    let jobs: Vec<_> = partitions.iter().take(20).map(|entry| names::job(entry.job.as_deref())).collect();
    words!("several jobs of yours run on IPUs: give one of {}", jobs.join(", "))
}

/// The grant of the job, as far as the document knows it. The files tell the number of GCDs.
fn grant(partition: &Partition) -> Option<Grant> {
    Some(Grant {
        partition: PartitionId::new(partition.id.as_deref()?).ok()?,
        model: ModelName::new(partition.model.clone()).ok()?,
        size: IpuCount::new(partition.size.into()).ok()?,
        gcds: 1,
        controller: partition.controller.parse().ok(),
        delivery: Delivery::File,
        shared: None,
    })
}

/// The number of GCDs of a partition, by its files. None if there is no file.
fn gcds(directory: &Path, partition: &PartitionId) -> Option<u32> {
    let exists = |gcd: u32, gcds: u32| directory.join(file_name(partition, gcd, gcds)).exists();
    if exists(0, 1) {
        return Some(1);
    }
    Some((0..MOST_GCDS).take_while(|gcd| exists(*gcd, MOST_GCDS)).zip(1..).last()?.1)
}

fn no_file(directory: &Path, grant: &Grant) -> String {
    let file: PathBuf = directory.join(file_name(&grant.partition, 0, 1));
    format!(
        "has no file {}: the directory is not mounted here, or the site has Delivery=api or Delivery=node; \
         start programs by srun --jobid then",
        file.display()
    )
}

/// Checks that the caller can read the file.
fn check(file: &Path) -> Result<(), Words> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(file);
    let facts = opened.and_then(|file| file.metadata()).map_err(|why| words!("cannot read it: {why}"))?;
    if facts.is_file() { Ok(()) } else { Err("it is no regular file".into()) }
}

/// Commands for a shell. Variables that lead a program to other IPUs are removed.
fn commands(view: &View<'_>, variables: &[(&str, String)]) -> String {
    let others = FAMILIES.iter().filter(|name| variables.iter().all(|(own, _)| own != *name));
    let set: Vec<_> =
        others.copied().filter(|name| view.surroundings.variables.contains_key(*name)).collect();
    let mut text =
        variables.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect();
    if !set.is_empty() {
        text = format!("unset {}\n{text}", set.join(" "));
    }
    text
}

/// A value as one word of a shell.
fn quoted(value: &str) -> String {
    match is_plain(value) {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\'', "'\\''")),
    }
}
