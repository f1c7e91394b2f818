//! The invariants that hold after every test, on clusters of both kinds.

use std::{collections::BTreeSet, sync::Mutex, time::Duration};

use anyhow::{Result, ensure};

use crate::{JobId, JobView, cluster::locked, say, wait_until};

/// How long the last jobs may take to end.
const JOBS_LIMIT: Duration = Duration::from_secs(180);

/// How long after that the last partition and file may take to go.
const PARTITIONS_LIMIT: Duration = Duration::from_secs(60);

/// A cluster as the checks see it. Lists have a text for each thing that should not be.
pub(crate) trait Checked {
    /// Wants slurmctld to live.
    fn slurmctld_lives(&self) -> Result<()>;
    /// All jobs that slurmctld remembers.
    fn known_jobs(&self) -> Result<Vec<JobView>>;
    /// The jobs that it has to remember.
    fn submitted_jobs(&self) -> &Mutex<BTreeSet<JobId>>;
    /// Cancels jobs, some of which may have ended.
    fn cancel(&self, jobs: &[&str]) -> Result<()>;
    /// The partitions that there are.
    fn partitions(&self) -> Result<Vec<String>>;
    /// IPUs that were ever in two partitions.
    fn owned_twice(&self) -> Result<Vec<String>>;
    /// The files in IpuofDir.
    fn files(&self) -> Result<Vec<String>>;
    /// Faults in the logs of slurmctld and its backup.
    fn slurmctld_faults(&self) -> Result<Vec<String>>;
    /// Faults in the logs of the nodes.
    fn node_faults(&self) -> Result<Vec<String>>;
}

/// Cancels what is left of jobs, waits until they are gone, and checks what must hold after every test:
/// no partition and no IPUoF file is left, no IPU was ever in two partitions, no job was lost,
/// slurmctld lives, and neither it nor a node logged a fault of ours.
pub(crate) fn check(cluster: &impl Checked) -> Result<()> {
    clear(cluster)?;
    let violations = violations(cluster);
    ensure!(violations.is_empty(), "at the end this did not hold:\n  {}", violations.join("\n  "));
    Ok(())
}

/// Cancels all jobs and waits until nothing of them is left.
fn clear(cluster: &impl Checked) -> Result<()> {
    cluster.slurmctld_lives()?;
    say("cancelling what is left, waiting for the last partitions to go");
    let left: Vec<_> = cluster.known_jobs()?.into_iter().filter(|job| !job.is_over()).collect();
    if !left.is_empty() {
        let ids: Vec<_> = left.iter().map(|job| job.id.to_string()).collect();
        cluster.cancel(&ids.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    wait_until("the last job to end", JOBS_LIMIT, || Ok(cluster.known_jobs()?.iter().all(JobView::is_over)))?;
    // What stays for good is reported as a violation, with its name.
    let _ = wait_until("the last partition to go", PARTITIONS_LIMIT, || {
        Ok(cluster.partitions()?.is_empty() && cluster.files()?.is_empty())
    });
    Ok(())
}

fn violations(cluster: &impl Checked) -> Vec<String> {
    let checks = [
        ("partition left", cluster.partitions()),
        ("IPU owned twice", cluster.owned_twice()),
        ("file left in IpuofDir", cluster.files()),
        ("job lost", lost_jobs(cluster)),
        ("slurmctld", cluster.slurmctld_lives().map(|()| Vec::new())),
        ("slurmctld's log", cluster.slurmctld_faults()),
        ("a node's log", cluster.node_faults()),
    ];
    let mut violations = Vec::new();
    for (what, found) in checks {
        match found {
            Ok(found) => violations.extend(found.iter().map(|found| format!("{what}: {found}"))),
            Err(error) => violations.push(format!("{what}: {error:#}")),
        }
    }
    violations
}

fn lost_jobs(cluster: &impl Checked) -> Result<Vec<String>> {
    let known: Vec<_> = cluster.known_jobs()?.into_iter().map(|job| job.id).collect();
    let submitted = locked(cluster.submitted_jobs());
    Ok(submitted.iter().filter(|job| !known.contains(job)).map(ToString::to_string).collect())
}
