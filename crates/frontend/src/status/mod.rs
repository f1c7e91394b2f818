//! The status document, composed from copies of the ledger.
//!
//! The ledger is locked for one portion at a time, so that callbacks of Slurm never wait long for it. Facts
//! about jobs come from the host thread, which looks at jobs in portions too ([`HostTask::LookAtJobs`]).

mod clocks;
mod ledger_held;
mod model;
mod partition;
pub(crate) mod seen_jobs;
#[cfg(test)]
mod start_of_new_job_tests;
pub(crate) mod status_writer;
#[cfg(test)]
pub(crate) mod tests;
mod usual_times_and_last_hour;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::thread::Thread;

use std::cmp::Reverse;

use ledger::{Millis, Rank, Seconds};
use vipu_forecast::ModelForecast;
use vipu_status::{Counters, State, Status, WaitingJob, Writer};
use vipu_types::{IpuCount, ModelName};

use self::clocks::Clocks;
use self::ledger_held::LedgerHeld;
use self::model::model;
use self::partition::partition;
pub use self::partition::state_name;
use self::seen_jobs::SeenJob;
use self::usual_times_and_last_hour::History;
use crate::clocks_and_queues::HostTask;
use crate::frontend::Frontend;

/// The most claims, and the most waiting jobs, that are copied under one lock.
const CLAIMS_AT_ONCE: usize = 64;
const JOBS_AT_ONCE: usize = 64;

/// The jobs of each model, from the first in line on, whose starts are forecast. The cost of a forecast grows
/// with the Pod.
const FORECASTS: usize = 64;

/// The time in milliseconds after which all jobs are looked at again, because Slurm may have changed them.
const LOOK_AGAIN: u64 = 10_000;

/// Composes one document after another.
#[derive(Default)]
pub struct StatusComposer {
    /// The keys of the waiting jobs.
    keys: HashMap<u32, u64>,
    next_key: u64,
    /// The jobs in line and those with a partition, in the last document.
    before: HashSet<u32>,
    /// The jobs whose partition was on its way out in the last document. They have been looked at since.
    left: HashSet<u32>,
    /// The time of the last look at all jobs.
    looked: Option<Millis>,
    history: History,
    held: LedgerHeld,
}

impl StatusComposer {
    /// The present state. `conf` has the file of each model.
    pub fn compose(
        &mut self,
        frontend: &Frontend,
        writer: Writer,
        mut conf: BTreeMap<ModelName, vipu_status::ConfFile>,
    ) -> Status {
        let clocks = Clocks::of(frontend);
        let (stays, events) = self.held.copy(frontend, |ledger| (ledger.take_stays(), ledger.events()));
        stays.iter().for_each(|stay| self.history.add(stay));
        let seen = frontend.seen_jobs.all();
        let mut partitions = partitions(frontend, &mut self.held, clocks, &seen);
        let states = self.held.copy(frontend, |ledger| ledger.models());
        // One allocation, which is large, goes back to the system afterwards.
        let (mut line, mut jobs) = (Vec::with_capacity(seen.len()), HashSet::new());
        for state in &states {
            self.line(frontend, &state.facts.model, &seen, &mut line, &mut jobs);
        }
        line.sort_unstable_by_key(|job: &WaitingJob| {
            (Reverse(job.rank), job.job.as_deref().map(|job| job.id))
        });
        let models = states.into_iter().map(|state| {
            let conf = conf.remove(&state.facts.model).unwrap_or_default();
            model(frontend, &mut self.held, clocks, &self.history, state, conf, &mut partitions)
        });
        let models: Vec<_> = models.collect();
        let with_last_run = with_last_run(&partitions, &jobs);
        let (partitions, ids): (Vec<_>, Vec<u32>) = partitions.into_iter().unzip();
        jobs.extend(ids);
        let not_in_line = self.not_in_line(clocks, &jobs, &with_last_run, &seen);
        self.look_at_jobs(frontend, jobs, with_last_run, &seen);
        let mut status = Status {
            schema: vipu_status::SCHEMA,
            written: clocks.unix,
            writer,
            out_of_order: frontend.out_of_order().map(str::to_owned),
            models,
            partitions,
            line,
            not_in_line,
            counters: Counters { events, ledger_held: self.held.times().clone(), ..Counters::default() },
            drains: frontend.drains(),
        };
        self.history.fill_in(&mut status);
        forecast(&mut status);
        status
    }

    /// Adds the jobs in line for a model to `line`, and their ids to `jobs`. A job that Slurm has cancelled, of
    /// which the ledger does not hear, is added to `jobs` only. A job that waits for something else is left out.
    fn line(
        &mut self,
        frontend: &Frontend,
        model: &ModelName,
        seen: &HashMap<u32, Arc<SeenJob>>,
        line: &mut Vec<WaitingJob>,
        jobs: &mut HashSet<u32>,
    ) {
        let mut last: Option<Rank> = None;
        // The ledger forgets an older plan when a scheduler next asks.
        let oldest = Seconds(frontend.outside().unix_time().0.saturating_sub(frontend.patience()));
        loop {
            let portion = self.held.copy(frontend, |ledger| ledger.line_behind(model, last, JOBS_AT_ONCE));
            let Some(end) = portion.last() else { return };
            last = Some(end.wish.rank);
            for waiting in portion.into_iter().filter(|waiting| waiting.seen >= oldest) {
                let (id, rank) = (waiting.wish.job(), waiting.wish.rank);
                let seen = seen.get(&id).map(Arc::as_ref);
                if seen.is_some_and(|seen| !seen.is_pending()) {
                    jobs.insert(id);
                    continue;
                }
                // The ledger keeps the plan of a held job until a scheduler next looks at its line. The look at
                // the job knows earlier. It also shows that the job has not ended, so that `not_in_line` has it.
                if seen.is_some_and(|seen| seen.waits_elsewhere(waiting.seen)) {
                    self.before.remove(&id);
                    continue;
                }
                jobs.insert(id);
                line.push(WaitingJob {
                    key: self.key(id),
                    job: Some(seen_jobs::job(id, seen)),
                    model: model.shared(),
                    size: waiting.wish.size.get(),
                    tasks: seen.map_or(1, |seen| seen.tasks),
                    rank: vipu_status::Rank {
                        in_reservation: rank.in_reservation,
                        tier: rank.tier,
                        priority: rank.priority,
                    },
                    duration: waiting.wish.duration.as_secs(),
                    controllers: waiting.wish.controllers.iter().flatten().map(ToString::to_string).collect(),
                    not_before: waiting.not_before.0,
                    behind: waiting.behind.map(|behind| self.key(behind)),
                    reason: seen.and_then(|seen| seen.reason.clone()),
                    start: None,
                    planned_controller: None,
                    planned_places: Vec::new(),
                });
            }
        }
    }

    fn key(&mut self, job: u32) -> u64 {
        *self.keys.entry(job).or_insert_with(|| {
            self.next_key += 1;
            self.next_key
        })
    }

    /// The jobs that want IPUs and are not among `jobs`, because Slurm has not asked for their IPUs lately. A
    /// job that was among them in the last document may have ended, and has to be looked at first.
    fn not_in_line(
        &mut self,
        clocks: Clocks,
        jobs: &HashSet<u32>,
        with_last_run: &HashSet<u32>,
        seen: &HashMap<u32, Arc<SeenJob>>,
    ) -> Vec<WaitingJob> {
        let is_elsewhere = |id: &u32, seen: &SeenJob| match with_last_run.contains(id) {
            // Slurm tells only later what a job waits for that was requeued. Before the look at it, it may have ended.
            true => seen.is_pending() && self.left.contains(id),
            false => !jobs.contains(id) && !self.before.contains(id),
        };
        let others: BTreeMap<_, _> = seen.iter().filter(|(id, seen)| is_elsewhere(id, seen)).collect();
        let others =
            others.into_iter().filter_map(|(id, seen)| Some((*id, &**seen, seen.waits_for.as_ref()?)));
        let row = |(id, seen, (model, size)): (u32, &SeenJob, &(ModelName, IpuCount))| WaitingJob {
            key: self.key(id),
            job: Some(seen_jobs::job(id, Some(seen))),
            model: model.shared(),
            size: size.get(),
            tasks: seen.tasks,
            rank: seen.rank,
            duration: seen.time_limit(),
            controllers: Vec::new(),
            not_before: seen.begins.max(clocks.unix),
            behind: None,
            reason: seen.reason.clone(),
            start: None,
            planned_controller: None,
            planned_places: Vec::new(),
        };
        others.map(row).collect()
    }

    /// Has the host thread look at the jobs that it has not seen,
    /// and from time to time at all jobs with IPUs.
    fn look_at_jobs(
        &mut self,
        frontend: &Frontend,
        jobs: HashSet<u32>,
        with_last_run: HashSet<u32>,
        seen: &HashMap<u32, Arc<SeenJob>>,
    ) {
        let still_waits = |job, seen: &SeenJob| seen.waits_for.is_some() && !self.before.contains(&job);
        frontend.seen_jobs.retain(|job, seen| jobs.contains(&job) || still_waits(job, seen));
        self.keys.retain(|job, _| jobs.contains(job) || seen.contains_key(job));
        let now = frontend.now();
        let all = self.looked.is_none_or(|looked| now.0 >= looked.0 + LOOK_AGAIN);
        if all {
            self.looked = Some(now);
        }
        let known: HashSet<u32> = jobs.iter().chain(seen.keys()).copied().collect();
        let has_left = |job: &u32| self.before.contains(job) && !jobs.contains(job);
        let has_ended = |job: &u32, seen: &SeenJob| {
            with_last_run.contains(job) && (seen.is_running() || !self.left.contains(job))
        };
        let is_wanted =
            |job: &u32| all || seen.get(job).is_none_or(|seen| has_ended(job, seen)) || has_left(job);
        let wanted: Vec<u32> = known.into_iter().filter(is_wanted).collect();
        if all || !wanted.is_empty() {
            frontend.outside().ask_host(HostTask::LookAtJobs { jobs: wanted, and_all_pending: all });
        }
        // A job that is shown beside its last run has been looked at since.
        let was_left = std::mem::replace(&mut self.left, with_last_run);
        let is_shown = |job: &u32| {
            self.left.contains(job)
                && was_left.contains(job)
                && seen.get(job).is_some_and(|it| it.is_pending())
        };
        self.before = jobs;
        self.before.retain(|job| !is_shown(job));
    }
}

impl Frontend {
    /// A value that changes with everything in the document but times.
    #[must_use]
    pub fn status_revision(&self) -> [u64; 3] {
        let (events, line) = self.ledger().revision();
        [events, line, self.seen_jobs.changes()]
    }

    /// Unparks this thread from now on when [`Self::status_revision`] changes.
    pub fn wakes_for_status(&self, thread: Thread) {
        self.status_writer.set(thread);
    }
}

/// Fills in the starts of the first jobs in line of each model.
fn forecast(status: &mut Status) {
    let starts = |model| {
        let forecast = ModelForecast::new(status, model, status.written);
        let starts = forecast.map(|forecast| (0..FORECASTS).map(|n| forecast.waiting(n)).collect());
        starts.unwrap_or_default()
    };
    let starts: Vec<Vec<_>> = status.models.iter().map(starts).collect();
    for (model, starts) in status.models.iter().zip(starts) {
        let jobs = status.line.iter_mut().filter(|job| *job.model == *model.name);
        for (job, start) in jobs.zip(starts) {
            let Some(start) = start else { continue };
            job.start = start.time(status.written);
            job.planned_controller = Some(start.controller);
            job.planned_places = start.places;
        }
    }
}

/// The jobs whose partition is on its way out after a run, and that are not in line. They may wait for the next run, after
/// a requeue.
fn with_last_run(partitions: &[(vipu_status::Partition, u32)], in_line: &HashSet<u32>) -> HashSet<u32> {
    let is_leaving = |state| matches!(state, State::Ending | State::Resetting | State::Removing);
    let leaving = partitions.iter().filter(|(it, _)| is_leaving(it.state)).map(|(_, job)| *job);
    leaving.filter(|job| !in_line.contains(job)).collect()
}

/// The partitions of all claims, each with its job's id.
fn partitions(
    frontend: &Frontend,
    ledger_held: &mut LedgerHeld,
    clocks: Clocks,
    seen: &HashMap<u32, Arc<SeenJob>>,
) -> Vec<(vipu_status::Partition, u32)> {
    let (mut all, mut last) = (Vec::new(), None);
    loop {
        let portion = ledger_held.copy(frontend, |ledger| ledger.claims_after(last, CLAIMS_AT_ONCE));
        let Some(end) = portion.last() else { return all };
        last = Some(end.serial);
        all.extend(portion.into_iter().map(|view| {
            let job = view.claim.run.job;
            (partition(view, clocks, seen.get(&job).map(Arc::as_ref)), job)
        }));
    }
}
