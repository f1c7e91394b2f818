//! The main job, started by each command that a user has, from its submit until its partition and file are gone, with
//! the checks that demo and tests share.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::{Cluster, Hosts, JobId, JobView, wait_for, wait_until};

/// Shell commands that print their start time, the IPU environment without the grant, and the IPUoF file.
pub const SHOW: &str = r#"echo "started $(date +%s%N)"
env | grep -E '^(IPUOF_|SLURM_VIPU_)' | grep -v '^SLURM_VIPU_JOB_' | sed 's/^/env /'
echo "file $(tr -d '\n' < "$IPUOF_CONFIG_PATH")""#;

/// The parsed output of [`SHOW`].
#[derive(Clone, Debug)]
pub struct Shown {
    /// The time of the job's first command, in nanoseconds since the Unix epoch.
    pub started: u64,
    pub environment: BTreeMap<String, String>,
    pub file: IpuofFile,
}

/// The IPUoF file as any reader of the format sees it.
#[derive(Clone, Debug, Deserialize)]
pub struct IpuofFile {
    pub devices: Vec<serde_json::Value>,
    pub attributes: BTreeMap<String, String>,
}

impl Shown {
    pub fn parse(output: &str) -> Result<Self> {
        let part = |name: &str| output.lines().find_map(|line| line.strip_prefix(name));
        let started = part("started ").with_context(|| format!("the job's output is: {output}"))?;
        let file = part("file ").context("the job printed no file")?;
        let variables = output.lines().filter_map(|line| line.strip_prefix("env ")?.split_once('='));
        Ok(Self {
            started: started.parse()?,
            environment: variables.map(|(name, value)| (name.into(), value.into())).collect(),
            file: serde_json::from_str(file).with_context(|| format!("the IPUoF file is: {file}"))?,
        })
    }

    pub fn partition(&self) -> Result<&str> {
        self.environment.get("SLURM_VIPU_PARTITION").map(String::as_str).context("the job has no partition")
    }

    /// Checks that the job sees `ipus` IPUs of `partition`, and no other IPU variables.
    pub fn check(&self, partition: &str, ipus: u32) -> Result<()> {
        let Self { environment, file, .. } = self;
        let names: Vec<_> = environment.keys().map(String::as_str).collect();
        let ours = ["CONTROLLER", "GCD", "GCDS", "HOSTS", "IPUS", "MODEL", "PARTITION", "POPRUN"]
            .map(|what| format!("SLURM_VIPU_{what}"));
        let expected: Vec<_> =
            ["IPUOF_CONFIG_PATH"].into_iter().chain(ours.iter().map(String::as_str)).collect();
        ensure!(names == expected, "the job's IPU variables are {names:?}");
        ensure!(environment["SLURM_VIPU_PARTITION"] == partition, "{environment:?}");
        ensure!(environment["SLURM_VIPU_IPUS"] == ipus.to_string(), "{environment:?}");
        ensure!(environment["SLURM_VIPU_MODEL"] == "pod64", "{environment:?}");
        ensure!(environment["SLURM_VIPU_CONTROLLER"].contains(':'), "{environment:?}");
        ensure!(environment["IPUOF_CONFIG_PATH"].ends_with(&format!("/{partition}.conf")), "{environment:?}");
        ensure!(file.devices.len() == usize::try_from(ipus)?, "the file has {} devices", file.devices.len());
        ensure!(file.attributes.get("GCD Id").is_some_and(|gcd| gcd == "0"), "{:?}", file.attributes);
        Ok(())
    }
}

/// The longest time for a job on an idle cluster, with the create of its partition. A busy machine needs many
/// times the time of a quiet one.
const JOB_LIMIT: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
pub struct IpuRun {
    pub job: JobId,
    pub by: &'static str,
    pub ipus: u32,
    pub partition: String,
    /// The time from the create call until the partition was ACTIVE.
    pub create: Duration,
    /// The time from ACTIVE until the job's first command.
    pub ready_to_start: Duration,
    pub state: String,
}

/// Runs a job by `sbatch`, and checks that squeue shows it CONFIGURING while its partition is made.
pub fn batch<H: Hosts>(cluster: &Cluster<H>, ipus: u32) -> Result<IpuRun> {
    let job = cluster.sbatch(SHOW, &[&gres(ipus)])?;
    await_creating(cluster, job)?;
    batch_ended(cluster, job, ipus)
}

/// Runs a job by `sbatch`, for partitions that are made too fast for squeue to show CONFIGURING.
pub fn sbatch<H: Hosts>(cluster: &Cluster<H>, ipus: u32) -> Result<IpuRun> {
    let job = cluster.sbatch(SHOW, &[&gres(ipus)])?;
    batch_ended(cluster, job, ipus)
}

pub fn batch_ended<H: Hosts>(cluster: &Cluster<H>, job: JobId, ipus: u32) -> Result<IpuRun> {
    cluster.await_end(job, JOB_LIMIT)?;
    check_run(cluster, job, "sbatch", ipus, &cluster.job_output(job))
}

pub fn srun<H: Hosts>(cluster: &Cluster<H>, ipus: u32) -> Result<IpuRun> {
    attended(cluster, "srun", ipus)
}

pub fn salloc<H: Hosts>(cluster: &Cluster<H>, ipus: u32) -> Result<IpuRun> {
    attended(cluster, "salloc", ipus)
}

/// Runs a job whose user waits for it. The command of `salloc` is not a task of Slurm's, so salloc runs it as
/// a step by srun.
fn attended<H: Hosts>(cluster: &Cluster<H>, by: &'static str, ipus: u32) -> Result<IpuRun> {
    let name = format!("{by}-{ipus}");
    let command = cluster.command(by).args(&[&gres(ipus), &format!("--job-name={name}")]);
    let step: &[&str] = if by == "salloc" { &["srun"] } else { &[] };
    let running = command.args(step).args(&["bash", "-c", SHOW]).start()?;
    let job = cluster.await_job_named(&name, JOB_LIMIT)?;
    let output = running.success(JOB_LIMIT)?;
    cluster.await_end(job, JOB_LIMIT)?;
    check_run(cluster, job, by, ipus, &output.stdout)
}

/// Waits until squeue shows the job as CF. Fails if the partition is ACTIVE first.
pub fn await_creating<H: Hosts>(cluster: &Cluster<H>, job: JobId) -> Result<()> {
    ensure!(is_seen_creating(cluster, job)?, "job {job} had its partition before squeue was asked");
    Ok(())
}

/// Asks squeue until the job is CF or its partition is ACTIVE, which may come first on a busy machine.
/// Returns whether CF was seen. Any other state is an error while the partition is not ACTIVE.
pub fn is_seen_creating<H: Hosts>(cluster: &Cluster<H>, job: JobId) -> Result<bool> {
    wait_for(&format!("squeue to show job {job} as CF"), JOB_LIMIT, || {
        match cluster.squeue(job, "%t")?.as_str() {
            "CF" => Ok(Some(true)),
            "PD" => Ok(None),
            state => {
                let report = cluster.mock().report()?;
                let partition = report.partition(&partition_name(job, 0));
                let is_up = partition.is_some_and(|record| record.active.is_some());
                ensure!(is_up, "the job is '{state}' before its partition is ACTIVE");
                Ok(Some(false))
            }
        }
    })
}

/// Checks the job's output of [`SHOW`], waits until its partition and its file are gone, and returns the
/// outcome.
pub fn check_run<H: Hosts>(
    cluster: &Cluster<H>,
    job: JobId,
    by: &'static str,
    ipus: u32,
    output: &str,
) -> Result<IpuRun> {
    let shown = Shown::parse(output).with_context(|| format!("job {job} ({by})"))?;
    let partition = shown.partition()?.to_owned();
    ensure!(is_of_run(&partition, job, 0), "job {job} has partition {partition}");
    shown.check(&partition, ipus).with_context(|| format!("job {job} ({by})"))?;
    let gone = format!("partition {partition} and its file to go");
    wait_until(&gone, JOB_LIMIT, || {
        let left = cluster.mock().partitions()?.contains(&partition);
        Ok(!left && !cluster.ipuof_files()?.contains(&format!("{partition}.conf")))
    })?;
    let record = cluster.mock().record(&partition)?;
    let active = record.active.with_context(|| format!("{partition} was never ACTIVE"))?;
    ensure!(shown.started >= active.0, "job {job} started before its partition was ACTIVE");
    let state = cluster.job(job)?.state;
    ensure!(state == "COMPLETED", "job {job} ended {state}");
    Ok(IpuRun {
        job,
        by,
        ipus,
        partition,
        create: active.since(record.create_request),
        ready_to_start: Duration::from_nanos(shown.started - active.0),
        state,
    })
}

/// Whether this is the name of a partition of the job after `restarts` requeues: the first partition or a
/// further one.
pub fn is_of_run(partition: &str, job: JobId, restarts: u16) -> bool {
    let further = partition.strip_prefix(&partition_name(job, restarts));
    further.is_some_and(|further| further.is_empty() || further.starts_with('p'))
}

/// The name of the job's first partition after `restarts` requeues.
pub fn partition_name(job: JobId, restarts: u16) -> String {
    match restarts {
        0 => format!("slurm_{job}"),
        k => format!("slurm_{job}r{k}"),
    }
}

fn gres(ipus: u32) -> String {
    format!("--gres=vipu:pod64:{ipus}")
}

/// The waiting time of a job without IPUs.
pub fn start_delay(cluster: &Cluster) -> Result<Duration> {
    let submitted = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let job = cluster.sbatch("date +%s%N", &["--job-name=without-ipus"])?;
    cluster.await_end(job, JOB_LIMIT)?;
    let output = cluster.job_output(job);
    let started = output.trim().parse().with_context(|| format!("job {job} printed {output}"))?;
    Ok(Duration::from_nanos(started).saturating_sub(submitted))
}

/// Measures [`start_delay`] while one job has all of a GRES and another job waits for it.
pub fn delay_behind(cluster: &Cluster, gres: &str) -> Result<Duration> {
    let request = format!("--gres={gres}");
    let full = cluster.sbatch("sleep 1000", &[&request])?;
    cluster.await_job(full, "to run", JOB_LIMIT, |job| job.state == "RUNNING")?;
    let waiting = cluster.sbatch("true", &[&request])?;
    let delay = start_delay(cluster)?;
    let seen = cluster.job(waiting)?;
    ensure!(seen.state == "PENDING", "there is only one {gres}, but job {waiting} is {}", seen.state);
    cluster.command("scancel").args(&[&waiting.to_string(), &full.to_string()]).success()?;
    cluster.await_end(full, JOB_LIMIT)?;
    Ok(delay)
}

/// What was seen of a job array that asks for more IPUs than there are.
#[derive(Clone, Debug)]
pub struct ArrayWatch<T> {
    pub runs: Vec<IpuRun>,
    pub most_at_once: usize,
    /// The reasons that waiting tasks showed. Those that Slurm has not tried yet have none.
    pub reasons: BTreeSet<String>,
    /// What `meanwhile` returned.
    pub meanwhile: T,
}

/// Runs and watches `tasks` tasks of 16 IPUs each. Calls `meanwhile` once, when four tasks have IPUs and
/// others wait. No task ends before that. Fails when more than four tasks have IPUs at once, or no waiting
/// task names IPUs in its reason.
pub fn watch_array<T>(
    cluster: &Cluster,
    tasks: u32,
    meanwhile: impl FnOnce() -> Result<T>,
) -> Result<ArrayWatch<T>> {
    let last = tasks - 1;
    let seen = cluster.layout().jobs().join("seen");
    let script = format!("{SHOW}\nuntil [ -e '{}' ]; do sleep 0.2; done", seen.display());
    let array = format!("--array=0-{last}");
    let first = cluster.sbatch(&script, &["--gres=vipu:pod64:16", &array, "--output=%j.out"])?;
    let array_jobs = || {
        let jobs = cluster.jobs()?.into_iter();
        anyhow::Ok(jobs.filter(|job| job.array == Some(first)).collect::<Vec<_>>())
    };
    let (mut meanwhile, mut done) = (Some(meanwhile), None);
    let mut reasons = BTreeSet::new();
    wait_until(&format!("the {tasks} tasks of array {first}"), JOB_LIMIT, || {
        let all = array_jobs()?;
        let with_ipus =
            all.iter().filter(|job| ["CONFIGURING", "RUNNING"].contains(&job.state.as_str())).count();
        ensure!(with_ipus <= 4, "{with_ipus} tasks of 16 IPUs have IPUs at once");
        let waiting: Vec<_> = all.iter().filter(|job| job.state == "PENDING").collect();
        let shown = waiting.iter().map(|job| &job.reason).filter(|reason| *reason != "None");
        reasons.extend(shown.cloned());
        let runs = all.iter().any(|job| job.state == "RUNNING");
        if let Some(meanwhile) = meanwhile.take_if(|_| runs && with_ipus == 4 && !waiting.is_empty()) {
            done = Some(meanwhile()?);
            fs::write(&seen, "")?;
        }
        Ok(all.len() == usize::try_from(tasks)? && all.iter().all(JobView::is_over))
    })?;
    ensure!(reasons.iter().any(|reason| reason.contains("IPU")), "no reason names IPUs: {reasons:?}");
    let ids: BTreeSet<JobId> = array_jobs()?.iter().map(|job| job.id).collect();
    let runs = ids.into_iter().map(|job| check_run(cluster, job, "array", 16, &cluster.job_output(job)));
    let runs: Vec<_> = runs.collect::<Result<_>>()?;
    let most_at_once = most_at_once(cluster, &runs)?;
    ensure!(most_at_once == 4, "{most_at_once} tasks of 16 IPUs had IPUs at once, there is room for four");
    let meanwhile = done.context("no task waited while four had IPUs")?;
    Ok(ArrayWatch { runs, most_at_once, reasons, meanwhile })
}

fn most_at_once(cluster: &Cluster, runs: &[IpuRun]) -> Result<usize> {
    let records: Result<Vec<_>> = runs.iter().map(|run| cluster.mock().record(&run.partition)).collect();
    let records = records?;
    let alive_at = |moment| {
        let begun = records.iter().filter(|record| record.create_request <= moment);
        begun.filter(|record| record.removed.is_none_or(|removed| removed > moment)).count()
    };
    Ok(records.iter().map(|record| alive_at(record.create_request)).max().unwrap_or_default())
}

#[derive(Clone, Copy, Debug)]
pub struct BadRequest {
    pub gres: &'static str,
    pub answer: &'static [&'static str],
}

/// Requests that are refused, on a site with one Pod64.
pub const BAD_REQUESTS: &[BadRequest] = &[
    BadRequest { gres: "vipu:pod64:3", answer: &["3 IPUs", "power of two", "vipu:pod64:2", "vipu:pod64:4"] },
    BadRequest { gres: "vipu:pod64:65", answer: &["at most 64", "vipu:pod64:64"] },
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

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "started 17000000000\nenv IPUOF_CONFIG_PATH=/x/slurm_4.conf\nenv SLURM_VIPU_IPUS=1\n\
        env SLURM_VIPU_CONTROLLER=vipu:8090\nenv SLURM_VIPU_GCD=0\nenv SLURM_VIPU_GCDS=1\n\
        env SLURM_VIPU_HOSTS=a\nenv SLURM_VIPU_POPRUN=--host=a\n\
        env SLURM_VIPU_MODEL=pod64\nenv SLURM_VIPU_PARTITION=slurm_4\n\
        file {\"devices\": [{}], \"attributes\": {\"GCD Id\": \"0\"}}\n";

    #[test]
    fn output_of_a_job_is_read_and_checked() {
        let shown = Shown::parse(OUTPUT).unwrap();
        assert_eq!(shown.started, 17_000_000_000);
        shown.check("slurm_4", 1).unwrap();
        assert!(shown.check("slurm_4", 2).is_err());
        assert!(shown.check("slurm_5", 1).is_err());
    }

    #[test]
    fn an_extra_variable_is_noticed() {
        let inherited = format!("env IPUOF_VIPU_API_HOST=there\n{OUTPUT}");
        assert!(Shown::parse(&inherited).unwrap().check("slurm_4", 1).is_err());
        assert!(Shown::parse("").is_err());
    }
}
