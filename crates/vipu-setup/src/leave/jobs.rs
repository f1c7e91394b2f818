//! The jobs with IPUs that slurmctld knows.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};

use super::site::{Left, Site};

/// The fields of squeue, with their widths. None of them has free text of a user.
const FIELDS: [(&str, usize); 9] = [
    ("JobID", 12),
    ("HetJobID", 12),
    ("State", 16),
    ("PriorityLong", 14),
    ("admin_comment", WHY.len()),
    ("tres-per-job", 400),
    ("tres-per-node", 400),
    ("tres-per-socket", 400),
    ("tres-per-task", 400),
];

/// The AdminComment of held jobs.
const WHY: &str = "slurm-vipu leaves this cluster: ask for no IPUs, or cancel the job";

/// The number of jobs that one command names.
const AT_ONCE: usize = 500;

/// A job with IPUs.
#[derive(Debug)]
pub struct Job {
    pub id: u32,
    /// The id for commands: of the first component, if it is a component of a heterogeneous job.
    leader: u32,
    pub state: JobState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Also if its user holds it: the user can release it later.
    Waiting,
    /// Held by [`hold`].
    Held,
    /// It has nodes, or is ending.
    Active,
    /// It has ended. slurmctld forgets it after MinJobAge.
    Ended,
}

/// All jobs with IPUs.
///
/// # Errors
/// If slurmctld does not answer.
pub fn read(site: &Site) -> Result<Vec<Job>> {
    let fields: Vec<_> = FIELDS.iter().map(|(name, width)| format!("{name}:{width}")).collect();
    let mut squeue = site.slurm("squeue");
    squeue.args(["--noheader", "--all", "--states=all", "--Format", &fields.join(",")]);
    let output = squeue.output().context("cannot run squeue")?;
    let said = String::from_utf8_lossy(&output.stderr);
    // Before its last line, squeue repeats itself.
    ensure!(output.status.success(), "squeue: {}", said.lines().last().unwrap_or_default());
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

fn parse(text: &str) -> Vec<Job> {
    text.lines().filter_map(job).collect()
}

fn job(line: &str) -> Option<Job> {
    let mut rest = line;
    let fields = FIELDS.map(|(_, width)| {
        let (field, after) = rest.split_at_checked(width).unwrap_or((rest, ""));
        rest = after;
        field.trim()
    });
    let [id, het_job, state, priority, comment, tres @ ..] = fields;
    // "gres:vipu:pod64:4" up to 23.02, "gres/vipu:pod64:4" since.
    let is_ours = |request: &str| {
        let name = request.trim_start_matches("gres:").trim_start_matches("gres/");
        name.strip_prefix("vipu").is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '=']))
    };
    if !tres.iter().any(|list| list.split(',').any(is_ours)) {
        return None;
    }
    let state = match state {
        "PENDING" if priority == "0" && comment == WHY => JobState::Held,
        "PENDING" | "REQUEUE_HOLD" | "SPECIAL_EXIT" | "RESV_DEL_HOLD" => JobState::Waiting,
        "COMPLETED" | "CANCELLED" | "FAILED" | "TIMEOUT" | "NODE_FAIL" | "PREEMPTED" | "BOOT_FAIL"
        | "DEADLINE" | "OUT_OF_MEMORY" | "REVOKED" => JobState::Ended,
        // Nothing of a job in a state that is not known may be removed.
        _ => JobState::Active,
    };
    let id = id.parse().ok()?;
    let leader = het_job.parse().ok().filter(|leader| *leader != 0);
    Some(Job { id, leader: leader.unwrap_or(id), state })
}

/// The ids of the jobs in a state, for a command and for people.
pub fn ids(jobs: &[Job], state: JobState) -> Vec<String> {
    let ids: BTreeSet<_> = jobs.iter().filter(|job| job.state == state).map(|job| job.leader).collect();
    ids.iter().map(ToString::to_string).collect()
}

pub fn left(site: &Site, jobs: &[Job]) -> Vec<Left> {
    let mut left = Vec::new();
    let (waiting, active) = (ids(jobs, JobState::Waiting), ids(jobs, JobState::Active));
    if !waiting.is_empty() {
        let what = format!("{} with IPUs: {}", counted(&waiting, "waits", "wait"), shown(&waiting));
        let fix = "without slurm-vipu they never start: slurm-vipu-setup leave --hold, or --cancel";
        left.push(Left::new("jobs", what, fix));
    }
    if !active.is_empty() {
        let what = format!("{} IPUs: {}", counted(&active, "has", "have"), shown(&active));
        let fix = match site.has_our_selector() {
            true => "wait for the end, or cancel them",
            false => {
                "their partitions stay until you remove them: slurm-vipu-setup leave --clean, after the end"
            }
        };
        left.push(Left::new("jobs", what, fix));
    }
    left
}

/// Whether slurmctld has a record of a job with IPUs. Each needs the GRES in GresTypes, or slurmctld logs errors.
pub fn remembered(jobs: &[Job]) -> bool {
    !jobs.is_empty()
}

pub fn hold(site: &Site) -> Result<()> {
    let waiting = ids(&read(site)?, JobState::Waiting);
    let mut said = Vec::new();
    for ids in waiting.chunks(AT_ONCE) {
        let list = ids.join(",");
        // scontrol also fails for a task that has ended, of an array whose other tasks it holds.
        said.extend(succeed(site, "scontrol", &["hold", &list]).err());
        let words = ["update", &format!("JobId={list}"), &format!("AdminComment={WHY}")];
        said.extend(succeed(site, "scontrol", &words).err());
    }
    let left = ids(&read(site)?, JobState::Waiting);
    let said: String = said.iter().map(|why| format!("; {why}")).collect();
    ensure!(left.is_empty(), "not held: {}; run this again{said}", shown(&left));
    println!("{}", done("held", &waiting));
    Ok(())
}

pub fn cancel(site: &Site) -> Result<()> {
    let jobs = read(site)?;
    let waiting = [ids(&jobs, JobState::Waiting), ids(&jobs, JobState::Held)].concat();
    for ids in waiting.chunks(AT_ONCE) {
        let ids: Vec<_> = ids.iter().map(String::as_str).collect();
        succeed(site, "scancel", &[&["--state=PENDING"], &ids[..]].concat())?;
    }
    println!("{}", done("cancelled", &waiting));
    Ok(())
}

fn succeed(site: &Site, program: &str, words: &[&str]) -> Result<()> {
    let output = site.slurm(program).args(words).output().with_context(|| format!("cannot run {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {}: {}", words.join(" "), said.trim());
    Ok(())
}

fn done(word: &str, ids: &[String]) -> String {
    match ids {
        [] => format!("no job with IPUs waits: none was {word}"),
        ids => format!("{word}: {}", shown(ids)),
    }
}

fn counted(ids: &[String], one: &str, many: &str) -> String {
    match ids.len() {
        1 => format!("1 job {one}"),
        number => format!("{number} jobs {many}"),
    }
}

/// The first ids.
fn shown(ids: &[String]) -> String {
    const MOST: usize = 20;
    match ids.len() > MOST {
        true => format!("{} ...", ids[..MOST].join(" ")),
        false => ids.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: [&str; 9]) -> String {
        let fields = FIELDS.iter().zip(values);
        fields.map(|((_, width), value)| format!("{value:<width$}")).collect::<String>() + "\n"
    }

    #[test]
    fn pkg_leave_finds_jobs_with_ipus_in_all_states() {
        let text = [
            line(["1", "0", "RUNNING", "5", "", "N/A", "gres:vipu:pod64:4", "N/A", "N/A"]),
            line(["2", "0", "PENDING", "5", "", "N/A", "gres/gpu:1,gres/vipu:pod64:4", "N/A", "N/A"]),
            line(["3", "0", "PENDING", "0", WHY, "gres/vipu=4", "N/A", "N/A", "N/A"]),
            line(["5", "4", "CONFIGURING", "1", "", "N/A", "gres:vipu:4", "N/A", "N/A"]),
            line(["4", "4", "CONFIGURING", "1", "", "N/A", "gres:vipu:4", "N/A", "N/A"]),
            line(["6", "N/A", "COMPLETED", "1", "", "N/A", "N/A", "N/A", "gres/vipu"]),
            line(["7", "0", "PENDING", "5", "", "N/A", "gres/vipus:4", "N/A", "N/A"]),
            line(["8", "0", "PENDING", "5", "", "N/A", "gres:gpu:vipu:4", "N/A", "N/A"]),
            line(["9", "0", "REQUEUE_HOLD", "0", "", "N/A", "gres:vipu:4", "N/A", "N/A"]),
            line(["10", "0", "EXPEDITING", "1", "", "N/A", "gres:vipu:4", "N/A", "N/A"]),
            line(["11", "0", "PENDING", "0", "", "N/A", "gres:vipu:4", "N/A", "N/A"]),
        ];
        let jobs = parse(&text.concat());
        let found: Vec<_> = jobs.iter().map(|job| (job.id, job.state)).collect();
        use JobState::{Active, Ended, Held, Waiting};
        let expected = [(1, Active), (2, Waiting), (3, Held), (5, Active), (4, Active), (6, Ended)];
        assert_eq!(found, [&expected[..], &[(9, Waiting), (10, Active), (11, Waiting)]].concat());
        assert_eq!(ids(&jobs, Active), ["1", "4", "10"]);
    }
}
