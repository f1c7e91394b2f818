//! Requests that are refused, and requests that are completed.

use anyhow::{Context, Result, ensure};

use crate::{Cluster, JobId};

#[derive(Clone, Copy, Debug)]
pub struct BadRequest {
    pub gres: &'static str,
    pub answer: &'static [&'static str],
}

/// Requests that are refused, on a site with one Pod64.
pub const BAD_REQUESTS: &[BadRequest] = &[
    BadRequest { gres: "vipu:pod64:3", answer: &["3 IPUs", "power of two", "vipu:pod64:2", "vipu:pod64:4"] },
    BadRequest { gres: "vipu:pod64:65", answer: &["65 IPUs", "vipu:pod64:64"] },
    BadRequest { gres: "vipu:pod64:128", answer: &["at most 64", "vipu:pod64:64"] },
    BadRequest { gres: "vipu:pod64:0", answer: &["at least 1 IPU", "vipu:pod64:1"] },
    BadRequest { gres: "vipu:pod99:4", answer: &["pod99", "vipu:pod64:4"] },
];

/// Incomplete requests, and the number of IPUs that they ask for.
pub const RESOLVED_REQUESTS: &[(&str, u32)] = &[("vipu", 1), ("vipu:4", 4), ("vipu:pod64", 1)];

pub fn refuse(cluster: &Cluster, request: &BadRequest) -> Result<String> {
    let output = cluster.sbatch_command("true", &[&format!("--gres={}", request.gres)])?.output()?;
    ensure!(output.code != 0, "--gres={} was accepted: {}", request.gres, output.stdout);
    let mut lines = output.stderr.lines().filter(|line| line.contains("vipu:"));
    let line = lines.next().with_context(|| format!("--gres={}: {}", request.gres, output.stderr))?;
    ensure!(
        lines.next().is_none(),
        "--gres={} is answered in several lines: {}",
        request.gres,
        output.stderr
    );
    for part in request.answer.iter().chain(&["models: pod64 (1, 2, 4 ... 64 IPUs)"]) {
        ensure!(line.contains(part), "--gres={}: '{part}' is not in: {line}", request.gres);
    }
    Ok(line.to_owned())
}

/// Submits an incomplete request as a held job, and checks the GRES that slurmctld has completed.
pub fn resolve(cluster: &Cluster, gres: &str, ipus: u32) -> Result<JobId> {
    let job = cluster.sbatch("true", &[&format!("--gres={gres}"), "--hold"])?;
    let record = cluster.job_record(job)?;
    let taken = record.get("TresPerNode")?;
    ensure!(taken.ends_with(&format!("vipu:pod64:{ipus}")), "--gres={gres} was taken for {taken}");
    cluster.command("scancel").args(&[&job.to_string()]).success()?;
    Ok(job)
}
