//! `svipu when` and a real slurmctld: a job that is submitted then starts when `svipu when` said.
//!
//! Each round brings several Pods into random states: running and waiting jobs, priorities, drains. For each Pod it
//! asks `svipu when` for a random job, submits this job, and compares the answer with `squeue --start` after backfill.
//! Nodes are always free, so that only IPUs decide.
//!
//! A start that the ends of jobs decide is the same to the second: slurm-vipu tells Slurm the time, and `bf_resolution`
//! does not round it. A job that can start now starts between the question and the comparison. Where `svipu when` knows
//! no start, `squeue --start` says N/A.
//!
//! `WHEN_STATES` in the environment gives the number of states.

use std::collections::{BTreeMap, BTreeSet};
use std::env;

use anyhow::{Context as _, Result, ensure};
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use testbed::{Cluster, JobId, Settings, wait_until};
use vipu_status::{State, Status};

use super::{document, svipu};
use crate::LIMIT;
use crate::jobs::{looked_at, now, roomy};

/// A Pod, or several, with a model of their own.
struct Pod {
    model: &'static str,
    /// The IPUs of the largest job.
    ipus: u32,
    /// The arguments of the mock of each controller.
    mocks: &'static [&'static [&'static str]],
    /// Lines of the model's conf file.
    lines: &'static [&'static str],
}

const PODS: [Pod; 8] = [
    Pod { model: "pod64", ipus: 64, mocks: &[&[]], lines: &[] },
    Pod { model: "scattered", ipus: 64, mocks: &[&["--placement=scatter"]], lines: &[] },
    Pod { model: "explicit", ipus: 64, mocks: &[&[]], lines: &["Placement=explicit Cluster=pod64"] },
    Pod { model: "two", ipus: 64, mocks: &[&[], &[]], lines: &[] },
    Pod { model: "pod128", ipus: 128, mocks: &[&["--preset=pod128"]], lines: &["MaxIpusPerJob=128"] },
    Pod {
        model: "explicit128",
        ipus: 128,
        mocks: &[&["--preset=pod128"]],
        lines: &["MaxIpusPerJob=128", "Placement=explicit Cluster=pod128"],
    },
    Pod { model: "pod16", ipus: 16, mocks: &[&["--preset=pod16"]], lines: &["MaxIpusPerJob=16"] },
    Pod {
        model: "explicit16",
        ipus: 16,
        mocks: &[&["--preset=pod16"]],
        lines: &["MaxIpusPerJob=16", "Placement=explicit Cluster=pod16"],
    },
];

/// Time limits in minutes are multiples of this, and those of the submitted jobs are half of it longer. The end of a
/// submitted job is therefore minutes away from all other ends, and the second of its start does not matter.
const STEP: u32 = 20;

/// The most jobs in line for a model. More than there are plans.
const MOST_WAITING: usize = 20;

/// The looks of backfill at the new jobs, until squeue shows their starts.
const MOST_LOOKS: usize = 5;

/// Above the priorities of all jobs without one.
const HIGH_PRIORITY: u32 = 4_294_902_000;

#[test]
fn cli_when_is_the_start_that_slurm_gives_the_job() -> Result<()> {
    let states =
        env::var("WHEN_STATES").map_or(Ok(40), |text| text.parse::<usize>().context("WHEN_STATES"))?;
    settings().run(|cluster| {
        let mut play = Play { cluster, random: StdRng::seed_from_u64(1), drained: BTreeMap::new() };
        let (mut kinds, mut wrong) = (BTreeMap::new(), Vec::new());
        for round in 0..states.div_ceil(PODS.len()) {
            play.change(round)?;
            for compared in play.compare()? {
                let kind = match (&compared.told, compared.waits) {
                    (None, _) => "unknown",
                    (Some(_), true) => "later",
                    (Some(_), false) => "now",
                };
                *kinds.entry(kind).or_insert(0) += 1;
                if !compared.agrees {
                    wrong.push(format!("round {round}: {compared:?}"));
                }
            }
        }
        println!("starts: {kinds:?}");
        ensure!(wrong.is_empty(), "{} of {states} starts differ:\n{}", wrong.len(), wrong.join("\n"));
        ensure!(kinds.len() == 3, "the states lack a kind of start: {kinds:?}");
        Ok(())
    })
}

fn settings() -> Settings {
    let mut settings =
        roomy().cpus(4096).slurm_conf("SchedulerParameters=bf_interval=1,bf_continue,bf_window=43200");
    let mut controllers = 0;
    for (n, Pod { model, ipus, mocks, lines }) in PODS.iter().enumerate() {
        if n > 0 {
            let numbers: Vec<_> = (controllers..controllers + mocks.len()).collect();
            settings = mocks.iter().fold(settings, |settings, mock| settings.controller(mock));
            settings =
                settings.model(model, &numbers, lines).extra_gres(&format!("vipu:{model}:no_consume:{ipus}"));
        }
        controllers += mocks.len();
    }
    settings
}

/// The start that `svipu when` told of a job, and what became of the job.
#[derive(Debug)]
struct Compared {
    /// Its options, for the message of a failure.
    #[expect(dead_code)]
    wanted: (&'static str, u32, u32),
    job: JobId,
    told: Option<i64>,
    waits: bool,
    /// The start as squeue shows it.
    start: Option<i64>,
    agrees: bool,
}

/// A job that has not ended, as squeue shows it.
struct Queued {
    job: JobId,
    model: String,
    waits: bool,
    end: i64,
}

struct Play<'a> {
    cluster: &'a Cluster,
    random: StdRng,
    /// The name of what is drained, by model.
    drained: BTreeMap<&'static str, String>,
}

impl Play<'_> {
    /// Ends and submits jobs, and drains IPUs.
    fn change(&mut self, round: usize) -> Result<()> {
        let queue = queue(self.cluster)?.unwrap_or_default();
        for pod in &PODS {
            let own: Vec<_> = queue.iter().filter(|it| it.model == pod.model).collect();
            let running: Vec<_> = own.iter().filter(|it| !it.waits).map(|it| it.job).collect();
            if own.len() - running.len() > MOST_WAITING || self.random.random_bool(0.1) {
                self.cluster.command("scancel").args(&[&format!("--name={}", pod.model)]).success()?;
            } else if let Some(job) = running.choose(&mut self.random).filter(|_| own.len() > 4) {
                self.cluster.command("scancel").args(&[&job.to_string()]).success()?;
            }
            let jobs = if round == 0 { 6 } else { self.random.random_range(1..4) };
            for _ in 0..jobs {
                let (ipus, minutes) = (self.size(pod), STEP * self.random.random_range(1..16));
                let priority = self.random.random_bool(0.3);
                let priority = priority.then(|| HIGH_PRIORITY + self.random.random_range(0..1000));
                submit(self.cluster, pod.model, ipus, minutes, priority)?;
            }
            if self.random.random_bool(0.2) {
                self.drain_or_resume(pod)?;
            }
        }
        Ok(())
    }

    fn size(&mut self, pod: &Pod) -> u32 {
        1 << self.random.random_range(0..=pod.ipus.ilog2())
    }

    /// Drains a model, one of its controllers or one of its IPUs, with or without an end. Resumes it the next time.
    fn drain_or_resume(&mut self, pod: &Pod) -> Result<()> {
        if let Some(name) = self.drained.remove(pod.model) {
            return steer(self.cluster, &["resume", &name, "--reason", "test"]);
        }
        let status = document(self.cluster)?.context("no status document")?;
        let model = status.models.iter().find(|it| it.name == pod.model).context("no model")?;
        let controller = &model.pods[self.random.random_range(0..model.pods.len())].controller;
        let name = match self.random.random_range(0..3) {
            0 => pod.model.to_owned(),
            1 if model.chooses_ipus => format!("{controller}/0:{}", self.random.random_range(0..16)),
            _ => controller.clone(),
        };
        let until = format!("now+{}", STEP * self.random.random_range(1..16));
        let until: &[&str] = if self.random.random_bool(0.5) { &["--until", &until] } else { &[] };
        steer(self.cluster, &[&["drain", &name, "--reason", "test"], until].concat())?;
        self.drained.insert(pod.model, name);
        Ok(())
    }

    /// Asks `svipu when` for a job of each model, and submits the jobs.
    fn compare(&mut self) -> Result<Vec<Compared>> {
        settle(self.cluster)?;
        let mut all = Vec::new();
        let asked = now()?.as_secs() as i64;
        for pod in &PODS {
            let (ipus, minutes) = (self.size(pod), STEP * self.random.random_range(0..16) + STEP / 2);
            all.push((pod, ipus, minutes, when(self.cluster, pod.model, ipus, minutes)?));
        }
        let submit = |(pod, ipus, minutes, told): (&Pod, u32, u32, Option<i64>)| {
            let job = submit(self.cluster, pod.model, ipus, minutes, None)?;
            Ok(Compared {
                wanted: (pod.model, ipus, minutes),
                job,
                told,
                waits: true,
                start: None,
                agrees: false,
            })
        };
        let mut all = all.into_iter().map(submit).collect::<Result<Vec<_>>>()?;
        for _ in 0..MOST_LOOKS {
            looked_at(self.cluster, all[0].job, 2)?;
            for it in &mut all {
                let shown = self.cluster.squeue(it.job, "%T %S")?;
                let (state, start) =
                    shown.split_once(' ').with_context(|| format!("squeue shows '{shown}'"))?;
                (it.waits, it.start) = (state == "PENDING", start.trim().parse().ok());
                it.agrees = match it.told {
                    told if it.waits => told == it.start,
                    Some(told) => asked <= told && it.start.is_some_and(|start| told <= start),
                    None => false,
                };
            }
            // Backfill may have been in the middle of the queue.
            if all.iter().all(|it| it.agrees) {
                break;
            }
        }
        let jobs: Vec<_> = all.iter().map(|it| it.job.to_string()).collect();
        self.cluster
            .command("scancel")
            .args(&jobs.iter().map(String::as_str).collect::<Vec<_>>())
            .success()?;
        Ok(all)
    }
}

fn submit(cluster: &Cluster, model: &str, ipus: u32, minutes: u32, priority: Option<u32>) -> Result<JobId> {
    let mut options = vec![format!("--ipus={ipus}"), format!("--ipu-model={model}"), format!("-t{minutes}")];
    options.push(format!("--job-name={model}"));
    options.extend(priority.map(|priority| format!("--priority={priority}")));
    cluster.sbatch("exec sleep 100000", &options.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The start that `svipu when` tells.
fn when(cluster: &Cluster, model: &str, ipus: u32, minutes: u32) -> Result<Option<i64>> {
    let state = cluster.layout().state().display().to_string();
    let job = [format!("--ipus={ipus}"), format!("-t{minutes}")];
    let args = ["when", "--json", "--status", &state, "-M", model, &job[0], &job[1]];
    let answers: serde_json::Value = serde_json::from_str(&svipu(cluster, &args)?)?;
    let answer = answers.get(0).with_context(|| format!("svipu says {answers}"))?;
    ensure!(answer["refused"].is_null(), "{answer}");
    Ok(answer["at"].as_i64())
}

/// Has slurmctld carry out a request of an administrator.
fn steer(cluster: &Cluster, args: &[&str]) -> Result<()> {
    let socket = cluster.layout().root().join("run/vipu_admin.socket").display().to_string();
    svipu(cluster, &[args, &["--socket", &socket]].concat()).map(drop)
}

/// The jobs that have not ended. `None` while one of them starts or ends.
fn queue(cluster: &Cluster) -> Result<Option<Vec<Queued>>> {
    let squeue = cluster.command("squeue").env("SLURM_TIME_FORMAT", "%s");
    let shown = squeue.args(&["--noheader", "--format=%i %j %T %e"]).success()?.stdout;
    let jobs = shown.lines().map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [job, model, state, end] = words[..] else { return Ok(None) };
        let waits = match state {
            "RUNNING" => false,
            "PENDING" => true,
            _ => return Ok(None),
        };
        Ok(Some(Queued {
            job: job.parse()?,
            model: model.into(),
            waits,
            end: end.parse().unwrap_or_default(),
        }))
    });
    jobs.collect()
}

/// Waits until no job starts or ends any more, backfill has looked at all of them, and the document shows them.
fn settle(cluster: &Cluster) -> Result<()> {
    let ids = |queue: &[Queued]| queue.iter().map(|it| (it.waits, it.job.0)).collect::<BTreeSet<_>>();
    wait_until("a settled queue", 3 * LIMIT, || {
        let Some(before) = queue(cluster)? else { return Ok(false) };
        if let Some(first) = before.iter().find(|it| it.waits) {
            looked_at(cluster, first.job, 2)?;
        }
        Ok(queue(cluster)?.is_some_and(|after| ids(&before) == ids(&after)))
    })?;
    let jobs = queue(cluster)?.context("a job started or ended by itself")?;
    wait_until("the document", 3 * LIMIT, || {
        Ok(document(cluster)?.is_some_and(|status| shows(&status, &jobs)))
    })
}

fn shows(status: &Status, jobs: &[Queued]) -> bool {
    let waiting = status.line.iter().filter_map(|it| it.job.as_deref()).map(|job| job.id);
    let waiting: BTreeSet<_> = waiting.collect();
    let is_running = |state| state == State::Running;
    let running = status.partitions.iter().filter(|it| is_running(it.state));
    let running: BTreeMap<_, _> = running.filter_map(|it| Some((it.job.as_deref()?.id, it.ends?))).collect();
    waiting == jobs.iter().filter(|it| it.waits).map(|it| it.job.0).collect()
        && running == jobs.iter().filter(|it| !it.waits).map(|it| (it.job.0, it.end)).collect()
        && status.partitions.len() == running.len()
}
