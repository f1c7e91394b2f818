//! The outcome of the jobs, without the parts that may depend on the selector.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write},
};

use anyhow::{Context, Result, ensure};
use testbed::Cluster;

use super::{ipus, jobs::Limits};

/// Fields that differ from run to run, and names and numbers of the machine itself. If nodes boot, 26.05
/// chooses the `BatchHost` of their job at its next look at the time limits, every 30 s. The `BatchHost` is
/// the first of the nodes, and the nodes are compared.
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

/// The start of the names of the jobs' scripts, which are numbered.
const SCRIPTS: &str = "/jobs/script-";

/// The number of differing jobs in a message.
const SHOWN: usize = 5;

/// The information that Slurm shows of the jobs of a cluster, by its subject.
#[derive(Debug, Default)]
pub(super) struct Outcome(BTreeMap<String, String>);

impl Outcome {
    /// Records a submit that was refused with these words.
    pub(super) fn refuse(&mut self, index: usize, words: String) {
        self.0.insert(format!("refused submit {index}"), words);
    }

    /// Records all jobs as they are at this `moment`. `origin` is the start of the first job, in seconds
    /// since 1970.
    pub(super) fn look(&mut self, cluster: &Cluster, moment: &'static str, origin: u64) -> Result<()> {
        let show = cluster.command("scontrol").args(&["--details", "show", "job"]);
        let text = show.env("SLURM_TIME_FORMAT", "%s").success()?.stdout;
        let root = cluster.layout().root().display().to_string();
        let (text, log) = (text.replace(&root, ""), cluster.slurmctld_log().replace(&root, ""));
        for record in text.split("\n\n").filter(|record| record.starts_with("JobId=") && !is_aside(record)) {
            let (name, record) = named(record).context("a job is but its id")?;
            self.0.insert(format!("{name} {moment}"), timeless(&record, origin)?);
        }
        let lines = || log.lines().filter(|line| !is_aside(line));
        let starts = |line: &str| {
            let (_, job) =
                line.split_once("Allocate JobId=").or_else(|| line.split_once("Started JobId="))?;
            // The id of a task is behind its name: see [`named`].
            job.split_whitespace().next()?.split('(').next().map(str::to_owned)
        };
        let started = lines().filter_map(starts).enumerate().map(|(number, job)| format!("{number}: {job}"));
        self.0.insert("starts in their order".into(), started.collect::<Vec<_>>().join("\n"));
        // slurmctld's errors: Slurm's selectors log some for some requests. Errors about its clock are left
        // out, because they do not concern the jobs.
        let errors =
            lines().filter(|line| !line.contains("latency")).filter_map(|line| line.split_once(" error: "));
        let errors: BTreeSet<_> = errors.map(|(_, error)| error).collect();
        self.0.insert("errors".into(), errors.into_iter().collect::<Vec<_>>().join("\n"));
        Ok(())
    }

    /// Checks that another cluster has an equal outcome.
    pub(super) fn compare(&self, other: &Self) -> Result<()> {
        let keys: BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let differing: Vec<_> =
            keys.into_iter().filter(|key| self.0.get(*key) != other.0.get(*key)).collect();
        let text = |key: &&String| {
            let [one, two] = [self, other].map(|of| of.0.get(*key).map_or("", String::as_str));
            format!("{key}:\n  first\n{}  second\n{}", lines_only_in(one, two), lines_only_in(two, one))
        };
        let first: Vec<_> = differing.iter().take(SHOWN).map(text).collect();
        ensure!(
            differing.is_empty(),
            "{} differences between the clusters, the first:\n{}",
            differing.len(),
            first.join("\n")
        );
        Ok(())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |key: &str, text: &[&str]| {
            let is_meant = |(of, said): &(&String, &String)| {
                of.contains(key) && text.iter().any(|part| said.contains(part))
            };
            self.0.iter().filter(is_meant).count()
        };
        // The nodes of these jobs never boot.
        let runs = ["JobState=CONFIGURING", "JobState=RUNNING"];
        let (main, all) = (count(super::AFTER_MAIN, &runs), count(super::AT_THE_END, &runs));
        write!(
            f,
            "{} jobs: {main} started by the main scheduler, {} by backfill, starts expected of {}; {} submits refused",
            count(super::AT_THE_END, &[""]),
            all - main,
            count("JobId=", &[" steps "]),
            count("refused", &[""])
        )
    }
}

fn lines_only_in(one: &str, two: &str) -> String {
    let only = one.lines().filter(|line| !two.lines().any(|other| other == *line));
    only.map(|line| format!("    {line}\n")).collect()
}

/// Whether this text is about a job that is not compared: a job for IPUs, or a job of the testbed, which may
/// be more numerous in one of the clusters.
fn is_aside(text: &str) -> bool {
    text.contains("sentinel") || text.contains(ipus::NAME)
}

/// Returns the name of a job, and its record with this name for its id. A task of an array gets the next id when
/// it starts. The jobs of the testbed take ids as well, and a slow machine needs more of them.
fn named(record: &str) -> Option<(String, String)> {
    let value = |key: &str| record.split_whitespace().find_map(|word| word.strip_prefix(key));
    let id = value("JobId=")?;
    let name = match (value("ArrayJobId="), value("ArrayTaskId=")) {
        (Some(array), Some(task)) if array != id => format!("{array}_{task}"),
        _ => id.to_owned(),
    };
    let record = record.replace(&format!("JobId={id} "), &format!("JobId={name} "));
    Some((format!("JobId={name}"), record.replace(&format!("/{id}.out"), &format!("/{name}.out"))))
}

/// Returns a job's record without the parts that depend on the time of the look. The expected start of a
/// waiting job is rounded to the step of the time limits. The lines are sorted.
fn timeless(record: &str, origin: u64) -> Result<String> {
    let waits = record.contains("JobState=PENDING");
    let mut lines = BTreeSet::new();
    for line in record.lines() {
        let mut text = String::new();
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
        lines.insert(text);
    }
    Ok(lines.into_iter().collect::<Vec<_>>().join("\n"))
}
