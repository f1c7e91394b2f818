//! The outcome of the jobs, as far as it must not depend on the selector.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write},
};

use anyhow::{Context, Result, ensure};
use testbed::Cluster;

use super::{ipus, jobs::Limits};

/// What differs from run to run, and names and numbers of the machine's own. 26.05 chooses the `BatchHost` of a job whose nodes boot
/// at its next look at the time limits, every 30 s; it is the first of the nodes, which are compared.
const OF_THE_RUN: [&str; 12] = [
    "SubmitTime",
    "EligibleTime",
    "AccrueTime",
    "LastSchedEval",
    "RunTime",
    "EndTime",
    "PreemptEligibleTime",
    "SuspendTime",
    "AllocNode:Sid",
    "Command",
    "SLUID",
    "BatchHost",
];

/// How the names of the jobs' scripts begin, which are numbered.
const SCRIPTS: &str = "/jobs/script-";

/// How many differing jobs a message shows.
const SHOWN: usize = 5;

/// All jobs of a cluster after it has scheduled them.
#[derive(Debug)]
pub(super) struct Outcome {
    /// What sbatch said of each job that it refused, by its index.
    pub(super) refused: BTreeMap<usize, String>,
    /// What scontrol shows of each job, after the main scheduler and at the end, by the job's id and the moment.
    shown: BTreeMap<(u32, &'static str), String>,
    /// The jobs in the order in which they were started.
    started: Vec<String>,
    /// What slurmctld took for an error: Slurm's selectors do so with some requests.
    errors: BTreeSet<String>,
}

impl Outcome {
    pub(super) fn new(refused: BTreeMap<usize, String>) -> Self {
        Self { refused, shown: BTreeMap::new(), started: Vec::new(), errors: BTreeSet::new() }
    }

    /// Takes account of all jobs as they are at this `moment`; `origin`, in seconds since 1970, is when the first started.
    pub(super) fn look(&mut self, cluster: &Cluster, moment: &'static str, origin: u64) -> Result<()> {
        let show = cluster.command("scontrol").args(&["--details", "show", "job"]);
        let text = show.env("SLURM_TIME_FORMAT", "%s").success()?.stdout;
        let root = cluster.layout().root().display().to_string();
        let (text, log) = (text.replace(&root, ""), cluster.slurmctld_log().replace(&root, ""));
        for record in text.split("\n\n").filter(|record| record.starts_with("JobId=") && !is_aside(record)) {
            let (id, _) = record["JobId=".len()..].split_once(' ').context("a job is but its id")?;
            self.shown.insert((id.parse()?, moment), timeless(record, origin)?);
        }
        let starts = |line: &str| {
            let (_, job) =
                line.split_once("Allocate JobId=").or_else(|| line.split_once("Started JobId="))?;
            job.split_whitespace().next().map(str::to_owned)
        };
        let lines = || log.lines().filter(|line| !is_aside(line));
        self.started = lines().filter_map(starts).collect();
        // Its clock is no matter of the jobs.
        let errors =
            lines().filter(|line| !line.contains("latency")).filter_map(|line| line.split_once(" error: "));
        self.errors = errors.map(|(_, error)| error.to_owned()).collect();
        Ok(())
    }

    /// Wants the same of another cluster.
    pub(super) fn compare(&self, other: &Self) -> Result<()> {
        let mut found = differences(&self.refused, &other.refused);
        found.extend(differences(&self.shown, &other.shown));
        let errors = self.errors.symmetric_difference(&other.errors);
        found.extend(errors.map(|error| format!("an error of one only: {error}")));
        let (one, two) = (&self.started, &other.started);
        let place = one.iter().zip(two).position(|(one, two)| one != two).unwrap_or(one.len().min(two.len()));
        let pair = (one.get(place), two.get(place));
        found.extend((one != two).then(|| format!("started as number {place}: {pair:?}")));
        let first: Vec<_> = found.iter().take(SHOWN).map(String::as_str).collect();
        ensure!(
            found.is_empty(),
            "{} differences between the clusters, the first:\n{}",
            found.len(),
            first.join("\n")
        );
        Ok(())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let main =
            |moment: &str| self.shown.iter().filter(|((_, at), text)| *at == moment && runs(text)).count();
        let (main, all) = (main(super::AFTER_MAIN), main(super::AT_THE_END));
        let planned = self.shown.values().filter(|text| text.contains(" steps ")).count();
        let (jobs, refused) = (self.shown.len() / 2, self.refused.len());
        write!(
            f,
            "{jobs} jobs: {main} started by the main scheduler, {} by backfill, starts expected of {planned}; {refused} submits refused",
            all - main
        )
    }
}

/// What is not the same in both, in words.
fn differences<K: Ord + fmt::Debug>(one: &BTreeMap<K, String>, two: &BTreeMap<K, String>) -> Vec<String> {
    let keys: BTreeSet<_> = one.keys().chain(two.keys()).collect();
    let differing = keys.into_iter().filter(|key| one.get(key) != two.get(key));
    let text = |key| {
        let of = |map: &BTreeMap<K, String>| map.get(key).map(String::as_str).unwrap_or_default().to_owned();
        let (one, two) = (of(one), of(two));
        format!("{key:?}:\n  first\n{}  second\n{}", lines_only_in(&one, &two), lines_only_in(&two, &one))
    };
    differing.map(text).collect()
}

fn lines_only_in(one: &str, two: &str) -> String {
    let only = one.lines().filter(|line| !two.lines().any(|other| other == *line));
    only.map(|line| format!("    {line}\n")).collect()
}

/// Whether this tells of a job that is not compared: of the testbed's own, of which there may be more in one of the clusters, or
/// for IPUs.
fn is_aside(text: &str) -> bool {
    text.contains("sentinel") || text.contains(ipus::NAME)
}

fn waits(record: &str) -> bool {
    record.contains("JobState=PENDING")
}

/// Whether it has its nodes; they never boot.
fn runs(record: &str) -> bool {
    record.contains("JobState=CONFIGURING") || record.contains("JobState=RUNNING")
}

/// A job's record without what depends on when it is looked at. The start that is expected of a waiting job is told to the
/// step of the time limits.
fn timeless(record: &str, origin: u64) -> Result<String> {
    let waits = waits(record);
    let mut text = String::new();
    for line in record.lines() {
        for word in line.split(' ').filter(|word| !word.is_empty() && !word.starts_with(SCRIPTS)) {
            match word.split_once('=') {
                Some((key, _)) if OF_THE_RUN.contains(&key) => {}
                Some(("StartTime", _)) if !waits => {}
                Some(("StartTime", time)) if time.parse::<u64>().is_ok() => {
                    let step = 60 * Limits::STEP;
                    let steps = (time.parse::<u64>()?.saturating_sub(origin) + step / 2) / step;
                    write!(text, "StartTime=origin+{steps} steps ")?;
                }
                _ => write!(text, "{word} ")?,
            }
        }
        text.push('\n');
    }
    Ok(text)
}
