//! What became of the jobs: by the marks of their scripts, and by what Slurm says of them.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use testbed::{Cluster, JobView, say};

use crate::load::{Load, MARKS};

/// The words with which slurm-vipu takes over a job as launched.
const TAKEN_OVER: &str = "an earlier slurmctld has launched it";

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Stops,
    Kills,
    EndsOfSlurmd,
    Resumed,
    Jobs,
    Commands,
    AsScript,
    TakenOver,
    Forgotten,
    Held,
    Again,
    Lost,
    Twice,
    Wrong,
    Stuck,
    Broken,
}

impl What {
    /// Each number with its words for the table.
    const ROWS: [(Self, &str); 16] = [
        (Self::Stops, "slurmctld stopped (TERM) and started"),
        (Self::Kills, "slurmctld killed (kill -9) and started"),
        (Self::EndsOfSlurmd, "slurmd stopped or killed, and started"),
        (Self::Resumed, "drained nodes resumed"),
        (Self::Jobs, "batch jobs"),
        (Self::Commands, "jobs of srun and salloc"),
        (Self::AsScript, "batch jobs that ended as their script"),
        (Self::TakenOver, "taken over as launched"),
        (Self::Forgotten, "not saved by Slurm before a kill, not known after it"),
        (Self::Held, "held by Slurm after a failed launch"),
        (Self::Again, "run again after their end, by a requeue that no user asked for"),
        (Self::Lost, "lost: RUNNING without a script"),
        (Self::Twice, "run twice without a requeue"),
        (Self::Wrong, "ended otherwise than their script"),
        (Self::Stuck, "neither over nor waiting at the end"),
        (Self::Broken, "rounds at whose end an invariant did not hold"),
    ];

    /// What must not be.
    const NEVER: [Self; 5] = [Self::Lost, Self::Twice, Self::Wrong, Self::Stuck, Self::Broken];
}

#[derive(Clone, Debug, Default)]
pub struct Count(BTreeMap<What, usize>);

/// The marks of one task in one run.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    begins: usize,
    ends: usize,
}

/// The marks of each job's tasks, by their numbers of requeues.
type OfTasks = BTreeMap<(String, u32), BTreeMap<u16, Marks>>;

fn marks(text: &str) -> OfTasks {
    let mut found = OfTasks::new();
    for line in text.lines() {
        let [what, name, task, restarts, _] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
        let (Ok(task), Ok(restarts)) = (task.parse(), restarts.parse()) else { continue };
        let run = found.entry((name.to_owned(), task)).or_default().entry(restarts).or_default();
        match what {
            "begin" => run.begins += 1,
            _ => run.ends += 1,
        }
    }
    found
}

impl Count {
    pub fn more(&mut self, what: What, number: usize) {
        *self.0.entry(what).or_default() += number;
    }

    pub fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, number)| self.more(*what, *number));
    }

    fn of(&self, what: What) -> usize {
        self.0.get(&what).copied().unwrap_or_default()
    }

    /// Whether nothing was that must not be.
    pub fn is_clean(&self) -> bool {
        What::NEVER.iter().all(|what| self.of(*what) == 0)
    }

    /// Counts the jobs of one round, which have settled.
    pub fn take(&mut self, cluster: &Cluster, load: &Load) -> Result<()> {
        let (jobs, marks) = (cluster.jobs()?, marks(&cluster.job_file(MARKS)));
        self.more(What::Commands, load.commands);
        for (name, batch) in &load.batch {
            self.more(What::Jobs, usize::try_from(batch.tasks)?);
            let of_name: Vec<_> = jobs.iter().filter(|job| job.name == *name).collect();
            if of_name.is_empty() {
                self.more(What::Forgotten, 1);
            }
            for job in of_name {
                let runs = marks.get(&(name.clone(), job.array_task.unwrap_or(0)));
                let last = runs.and_then(|runs| runs.get(&job.restarts)).copied().unwrap_or_default();
                if let Some(what) = end(job, last, batch.exit_code) {
                    self.more(what, 1);
                    if What::NEVER.contains(&what) {
                        say(format!("{what:?}: {job:?}, marks {last:?}"));
                    }
                }
            }
            for (task, runs) in marks.range((name.clone(), 0)..=(name.clone(), u32::MAX)) {
                if runs.values().any(|run| run.begins > 1) {
                    let requeued = load.requeued.contains(name);
                    say(format!("{task:?} ran twice: {runs:?}, requeued: {requeued}"));
                    self.more(What::Twice, 1);
                }
                let had_ended = runs.values().rev().skip(1).any(|run| run.ends > 0);
                self.more(What::Again, usize::from(had_ended && !load.requeued.contains(name)));
            }
        }
        let lost = cluster.jobs_without_script()?;
        if !lost.is_empty() {
            say(format!("lost: {lost:?}"));
        }
        self.more(What::Lost, lost.len());
        let log = cluster.slurmctld_log();
        self.more(What::TakenOver, log.lines().filter(|line| line.contains(TAKEN_OVER)).count());
        Ok(())
    }

    /// The numbers in one line.
    pub fn line(&self) -> String {
        let words: Vec<_> = self.0.iter().map(|(what, number)| format!("{what:?} {number}")).collect();
        words.join(", ")
    }

    /// All numbers as a table.
    pub fn table(&self, heading: &str) -> String {
        let rows = What::ROWS.iter().map(|(what, words)| format!("| {words} | {} |\n", self.of(*what)));
        format!("| {heading} | number |\n|---|---:|\n{}", rows.collect::<String>())
    }
}

/// What a job counts as, by its state and by the marks of its last run. A job that a user has ended counts as
/// nothing.
fn end(job: &JobView, last: Marks, exit_code: i32) -> Option<What> {
    match job.state.as_str() {
        "COMPLETED" if last.ends > 0 && exit_code == 0 => Some(What::AsScript),
        "FAILED" if last.ends > 0 && job.exit_code == format!("{exit_code}:0") => Some(What::AsScript),
        "COMPLETED" | "FAILED" => Some(What::Wrong),
        "PENDING" if job.reason.contains("held") => Some(What::Held),
        // It is counted as lost, if it is.
        "PENDING" | "RUNNING" => None,
        _ if job.is_over() => None,
        _ => Some(What::Stuck),
    }
}

/// The heading of a table of numbers.
pub fn heading(slurm: &str, stock: bool, rounds: u64, took: Duration, seed: u64) -> String {
    let side = if stock { "stock Slurm" } else { "slurm-vipu with Slurm" };
    format!("{side} {slurm}, {rounds} rounds, {} min, seed {seed}", took.as_secs() / 60)
}
