//! The runs of batch scripts as the nodes saw them, beside what slurmctld says of their jobs.
//!
//! slurmd logs each launch. slurmstepd logs the end of a script with its wait status, at level `verbose`. A node
//! that loses power logs no end.

use std::collections::BTreeMap;

use crate::{JobId, JobView};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfJob {
    launches: usize,
    ends: Vec<End>,
    submits: usize,
    requeues: usize,
    /// How often a task of a job array lost this id, so that another task may have got it.
    renumbered: usize,
}

/// The end of a script. Ends sort by time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    /// The time in the notation of the log.
    at: String,
    /// The wait status of the script. `None` if Slurm ended it, or could not run it.
    status: Option<u32>,
}

/// The runs of all batch jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchRuns(BTreeMap<JobId, OfJob>);

impl BatchRuns {
    /// Reads the logs of slurmctld and its backup, and those of all nodes.
    pub(crate) fn read(slurmctld: &str, nodes: &[String]) -> Self {
        let mut runs = Self::default();
        for line in slurmctld.lines() {
            if let Some(job) = job_behind(line, "submit_batch_job: ") {
                runs.of(job).submits += 1;
            } else if let Some(job) = job_behind(line, "Requeuing ") {
                runs.of(job).requeues += 1;
            } else if let Some(job) =
                job_behind(line, "select/vipu: ").filter(|_| line.contains(": it was task "))
            {
                runs.of(job).renumbered += 1;
            }
        }
        for line in nodes.iter().flat_map(|log| log.lines()) {
            if let Some(job) = job_behind(line, "Launching batch ") {
                runs.of(job).launches += 1;
            } else if let Some((job, end)) = end_of_script(line) {
                runs.of(job).ends.push(end);
            }
        }
        runs
    }

    fn of(&mut self, job: JobId) -> &mut OfJob {
        self.0.entry(job).or_default()
    }

    /// Whether a running job has no script: it was never launched, or its script has ended.
    pub(crate) fn is_lost(&self, job: &JobView) -> bool {
        job.is_batch
            && job.state == "RUNNING"
            && self.0.get(&job.id).is_none_or(|of_job| of_job.ends.len() >= of_job.launches)
    }

    /// The jobs that were launched more often than they were submitted and requeued, and those that ended otherwise
    /// than their script.
    pub(crate) fn violations(&self, jobs: &[JobView]) -> Vec<String> {
        let mut found = Vec::new();
        for (job, of_job) in &self.0 {
            let known = jobs.iter().find(|known| known.id == *job);
            let restarts = known.map_or(0, |known| usize::from(known.restarts));
            // Slurm gives a job's id again after it has lost its state. A task of an array gets its id without a submit.
            let allowed = of_job.submits.max(1) + of_job.requeues.max(restarts) + of_job.renumbered;
            if of_job.launches > allowed {
                let OfJob { launches, requeues, .. } = of_job;
                found.push(format!("job {job} was launched {launches} times, with {requeues} requeues"));
            }
            found.extend(known.and_then(|known| of_job.other_end(known)));
        }
        found
    }
}

impl OfJob {
    /// What slurmctld says of the job's end, if the job's last script ended otherwise. Slurm ends a job in other
    /// states for other reasons than its script.
    fn other_end(&self, known: &JobView) -> Option<String> {
        let by_script = known.is_batch && ["COMPLETED", "FAILED"].contains(&known.state.as_str());
        if !by_script || self.ends.len() != self.launches {
            return None;
        }
        let last = self.ends.iter().max()?.status?;
        // The script of an earlier job with this id may have ended last.
        let may_be_another = self.submits > 1 || self.renumbered > 0;
        let is_same = |end: &End| end.status.is_none_or(|status| is_end_of(status, known));
        if is_end_of(last, known) || may_be_another && self.ends.iter().any(is_same) {
            return None;
        }
        let JobView { id, state, exit_code, .. } = known;
        let (code, signal) = (last >> 8, last & 0x7f);
        Some(format!("job {id} is {state} {exit_code}, its script ended {code}:{signal}"))
    }
}

/// Whether a job ended as a script with this wait status.
fn is_end_of(status: u32, known: &JobView) -> bool {
    let JobView { state, exit_code, .. } = known;
    match (status >> 8, status & 0x7f) {
        (0, 0) => state == "COMPLETED",
        (code, 0) => state == "FAILED" && *exit_code == format!("{code}:0"),
        // Somebody who ends a job by a signal may also have decided how the job ends.
        _ => state == "FAILED",
    }
}

/// The job whose number follows these words. Releases name it `7`, `JobId=7`, or `JobId=5_1(7)` as a task.
fn job_behind(line: &str, words: &str) -> Option<JobId> {
    let (_, named) = line.split_once(words)?;
    let named = named.trim_start_matches("job ").trim_start_matches("JobId=");
    let number =
        |text: &str| text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())].parse().ok();
    let word = named.split([' ', ':', ',']).next()?;
    number(word.split_once('(').map_or(word, |(_, job)| job)).map(JobId)
}

/// The end of a batch script in a line of slurmstepd, as in `[TIME] [7.batch] job 7 completed with ...`.
fn end_of_script(line: &str) -> Option<(JobId, End)> {
    let (named, status) = match line.split_once(" completed with slurm_rc = ") {
        Some((named, codes)) => {
            (named, codes.strip_prefix("0, job_rc = ").and_then(|code| code.trim().parse().ok()))
        }
        None => (line.strip_suffix(" abort completed")?, None),
    };
    // Other steps are named StepId=7.0. The line of another slurmstepd can stand in the middle of this one.
    let (head, named) = named.rsplit_once(".batch] ")?;
    let at = head.rsplit_once("] [")?.0.rsplit('[').next()?.to_owned();
    Some((job_behind(&format!("script of {named}"), "script of ")?, End { at, status }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(state: &str, exit_code: &str, restarts: u16) -> JobView {
        let (state, exit_code) = (state.into(), exit_code.into());
        let text = || String::new();
        JobView {
            id: JobId(7),
            array: None,
            array_task: None,
            name: text(),
            state,
            reason: text(),
            system_comment: text(),
            exit_code,
            restarts,
            nodes: text(),
            is_batch: true,
        }
    }

    const LAUNCH: &str = "[2026-11-28T22:37:04.161] Launching batch job 7 for UID 1\n";
    const END: &str = "[2026-11-28T22:37:26.157] [7.batch] job 7 completed with slurm_rc = 0, job_rc = 768\n";
    const STEP: &str = "[2026-11-28T22:37:25.157] [7.0] StepId=7.0 completed with slurm_rc = 0, job_rc = 0\n";

    fn violations(slurmctld: &str, node: &str, known: &JobView) -> Vec<String> {
        BatchRuns::read(slurmctld, &[node.into()]).violations(std::slice::from_ref(known))
    }

    #[test]
    fn a_job_ends_as_its_script() {
        let node = [LAUNCH, STEP, END].concat();
        assert!(violations("", &node, &job("FAILED", "3:0", 0)).is_empty());
        let other = violations("", &node, &job("COMPLETED", "0:0", 0));
        assert_eq!(other, ["job 7 is COMPLETED 0:0, its script ended 3:0"]);
        // Two slurmstepd wrote at once.
        let [begin, end] =
            ["[2026-11-28T22:37:26.157] [7.batch] job 7 completed with slurm_rc ", "= 0, job_rc = 768\n"];
        let other = "[2026-11-28T22:37:26.157] [6.batch] job 6 completed with slurm_rc = 0, job_rc = 0\n";
        let mixed = [LAUNCH, begin, other, end].concat();
        assert!(violations("", &mixed, &job("FAILED", "3:0", 0)).is_empty());
        // Slurm lost the first job with this id. Its script ended after that of the second.
        let submit = "[2026-11-28T22:37:01.000] _slurm_rpc_submit_batch_job: JobId=7 InitPrio=1 usec=5\n";
        let later = "[2026-11-28T22:37:27.000] [7.batch] job 7 completed with slurm_rc = 0, job_rc = 0\n";
        let both = [LAUNCH, LAUNCH, END, later].concat();
        assert!(violations(&submit.repeat(2), &both, &job("FAILED", "3:0", 0)).is_empty());
        assert_eq!(violations(&submit.repeat(2), &both, &job("FAILED", "4:0", 0)).len(), 1);
        // Slurm has ended the job, or the node has lost power.
        assert!(violations("", &node, &job("TIMEOUT", "0:0", 0)).is_empty());
        assert!(violations("", LAUNCH, &job("COMPLETED", "0:0", 0)).is_empty());
    }

    #[test]
    fn a_job_runs_once_for_each_submit_and_requeue() {
        let (twice, held) = ([LAUNCH, LAUNCH].concat(), job("PENDING", "0:0", 0));
        assert_eq!(violations("", &twice, &held), ["job 7 was launched 2 times, with 0 requeues"]);
        let requeue = "[2026-11-28T22:37:05.000] Requeuing JobId=5_1(7)\n";
        assert!(violations(requeue, &twice, &held).is_empty());
        assert!(violations("", &twice, &job("PENDING", "0:0", 1)).is_empty());
        let submit = "[2026-11-28T22:37:01.000] _slurm_rpc_submit_batch_job: JobId=7 InitPrio=1 usec=5\n";
        assert!(violations(&[submit, submit].concat(), &twice, &held).is_empty());
        assert_eq!(violations(submit, &twice, &held).len(), 1);
        let renumbered = "[2026-11-28T22:37:05.000] select/vipu: job 7: it was task 7_2, and Slurm lost that; the task is job 9 now\n";
        assert!(violations(renumbered, &twice, &held).is_empty());
    }

    #[test]
    fn a_running_job_has_a_script() {
        let is_lost = |node: &str, known: &JobView| BatchRuns::read("", &[node.into()]).is_lost(known);
        let running = job("RUNNING", "0:0", 0);
        assert!(is_lost("", &running) && is_lost(&[LAUNCH, END].concat(), &running));
        assert!(!is_lost(LAUNCH, &running) && !is_lost(&[LAUNCH, STEP].concat(), &running));
        let aborted = "[2026-11-28T22:37:26.157] [7.batch] job 7 abort completed\n";
        assert!(is_lost(&[LAUNCH, aborted].concat(), &running));
        assert!(!is_lost("", &job("CONFIGURING", "0:0", 0)));
        assert!(!is_lost("", &JobView { is_batch: false, ..running }));
    }

    #[test]
    fn the_words_of_later_releases_are_read() {
        let node = "[2026-11-28T22:38:35.122] Launching batch JobId=7 SLUID=s2RDM8J4YRP700 for UID 1\n\
                    [2026-11-28T22:38:35.420] [7.batch] JobId=7 SLUID=s2RDM8J4YRP700 completed with slurm_rc = 0, job_rc = 9\n";
        assert!(violations("", node, &job("FAILED", "1:0", 0)).is_empty());
        assert_eq!(violations("", node, &job("COMPLETED", "0:0", 0)).len(), 1);
    }
}
