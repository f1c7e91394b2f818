//! Jobs of all kinds, and what users do with them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::Result;
use rand::{RngExt as _, rngs::StdRng, seq::IndexedRandom as _};
use testbed::{Cluster, Running, next_second};

use crate::side::Side;

/// The most jobs at a time. Those that wait are cheap.
const MOST_JOBS: usize = 14;

/// The most sruns and sallocs at a time.
const MOST_COMMANDS: usize = 3;

const PAUSE: Duration = Duration::from_millis(150);

/// A batch job. Its tasks have numbers behind its name.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub tasks: u32,
    pub exit_code: i32,
}

/// What was asked of Slurm.
#[derive(Debug, Default)]
pub struct Load {
    /// The batch jobs that Slurm took, by their names.
    pub batch: BTreeMap<String, Batch>,
    /// The jobs of srun and salloc.
    pub commands: usize,
    /// The names of the jobs for which a requeue was asked.
    pub requeued: BTreeSet<String>,
    running: Vec<Running>,
    number: usize,
}

/// A job as squeue shows it.
struct Queued {
    id: String,
    name: String,
    state: String,
    reason: String,
}

impl Queued {
    fn is_of_load(&self) -> bool {
        self.name.starts_with('s')
    }
}

/// The file of the marks, in the folder of the jobs.
pub const MARKS: &str = "marks";

/// A script that marks its begin and its end. The job's id is for those who look for it in logs.
fn script(seconds: u32, exit_code: i32) -> String {
    let run = "$SLURM_JOB_NAME ${SLURM_ARRAY_TASK_ID:-0} ${SLURM_RESTART_COUNT:-0}";
    let mark = format!("{run} $SLURM_JOB_ID >> {MARKS}");
    format!("echo begin {mark}\nsleep {seconds}\necho end {mark}\nexit {exit_code}")
}

impl Load {
    /// Puts load on the cluster until `over`.
    pub fn run(mut self, cluster: &Cluster, side: Side, random: &mut StdRng, over: &AtomicBool) -> Self {
        while !over.load(Ordering::Relaxed) {
            // Slurm may be away.
            let _ = self.step(cluster, side, random);
            thread::sleep(PAUSE);
        }
        self
    }

    fn step(&mut self, cluster: &Cluster, side: Side, random: &mut StdRng) -> Result<()> {
        let queue = queue(cluster)?;
        self.running.retain_mut(|command| command.runs().unwrap_or(false));
        let of_users: Vec<_> = queue.iter().filter(|job| job.is_of_load()).collect();
        match random.random_range(0..100) {
            0..50 if of_users.len() < MOST_JOBS => self.submit(cluster, side, random, &of_users)?,
            50..58 if self.running.len() < MOST_COMMANDS => self.command(cluster, side, random)?,
            58..64 => {
                let running: Vec<_> = of_users.iter().filter(|job| job.state == "RUNNING").collect();
                if let Some(job) = running.choose(random) {
                    self.requeued.insert(job.name.clone());
                    cluster.scontrol(&["requeue", &job.id])?;
                }
            }
            64..69 => {
                if let Some(job) = of_users.choose(random) {
                    cluster.command("scancel").args(&[&job.id]).output()?;
                }
            }
            69..73 => {
                let waiting: Vec<_> = of_users.iter().filter(|job| job.state == "PENDING").collect();
                if let Some(job) = waiting.choose(random) {
                    cluster.scontrol(&["hold", &job.id])?;
                }
            }
            73..85 => go_on(cluster)?,
            // Keeps the thread busy with which Slurm saves its jobs.
            _ => {
                cluster.sbatch_command("true", &["--hold", "--job-name=held"])?.output()?;
            }
        }
        Ok(())
    }

    fn submit(
        &mut self,
        cluster: &Cluster,
        side: Side,
        random: &mut StdRng,
        queue: &[&Queued],
    ) -> Result<()> {
        self.number += 1;
        let name = format!("s{}", self.number);
        let exit_code = *[0, 0, 0, 3].choose(random).unwrap_or(&0);
        let tasks = *[1, 1, 1, 3].choose(random).unwrap_or(&1);
        let ipus = *[4, 4, 16].choose(random).unwrap_or(&4);
        let mut options = vec![format!("--job-name={name}"), side.request(ipus)];
        options.push(if random.random_range(0..4) == 0 { "--no-requeue".into() } else { "--requeue".into() });
        if tasks > 1 {
            options.push(format!("--array=0-{}", tasks - 1));
        }
        if random.random_range(0..6) == 0
            && let Some(before) = queue.choose(random)
        {
            options.push(format!("--dependency=afterany:{}", before.id));
        }
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        let script = script(random.random_range(0..8), exit_code);
        let sbatch = cluster.sbatch_command(&script, &options)?.output()?;
        if sbatch.code == 0 {
            self.batch.insert(name, Batch { tasks, exit_code });
        }
        Ok(())
    }

    fn command(&mut self, cluster: &Cluster, side: Side, random: &mut StdRng) -> Result<()> {
        let seconds = random.random_range(0..5).to_string();
        let (program, step): (_, &[&str]) = match random.random_range(0..2) {
            0 => ("srun", &[]),
            _ => ("salloc", &["srun"]),
        };
        let command = cluster.command(program).args(&["--job-name=command", &side.request(4)]);
        self.running.push(command.args(step).args(&["sleep", &seconds]).start()?);
        self.commands += 1;
        Ok(())
    }
}

/// Does what users do with jobs that are held, or wait for the end of the pause after a requeue.
pub fn go_on(cluster: &Cluster) -> Result<()> {
    for job in queue(cluster)?.iter().filter(|job| job.state == "PENDING" && job.is_of_load()) {
        let is_held = job.reason.to_lowercase().contains("held");
        if is_held {
            cluster.scontrol(&["release", &job.id])?;
        }
        if is_held || job.reason == "BeginTime" {
            next_second()?;
            cluster.scontrol(&["update", &format!("JobId={}", job.id), "StartTime=now"])?;
        }
    }
    Ok(())
}

fn queue(cluster: &Cluster) -> Result<Vec<Queued>> {
    let squeue = cluster.command("squeue").args(&["-h", "--array", "-o", "%A|%j|%T|%r"]).success()?.stdout;
    let parse = |line: &str| {
        let mut words = line.splitn(4, '|').map(str::to_owned);
        Some(Queued { id: words.next()?, name: words.next()?, state: words.next()?, reason: words.next()? })
    };
    Ok(squeue.lines().filter_map(parse).collect())
}
