//! The starts of waiting jobs, calculated from a status document by the rules of the ledger.
//!
//! The plugin fills the starts of the document in this way, without the ledger's mutex. A reader calculates
//! the start of a job that was not submitted.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use ledger::{
    Forecast, InLine, Layout, LicenseReservation, LicenseReservations, Licenses, OtherNeeds, PlannedStart,
    PodInTime, PoolBlock, Seconds, WholeTime, WholeTimes, Wish,
};
use vipu_status::{Contact, Drain, Model, Partition, Place, Pod, State, Status, UNLIMITED, WaitingJob};
use vipu_types::{IpuCount, ModelName, Placement};

/// The time from the end of a job until its IPUs are free again, in seconds, as in the ledger's forecasts.
const REMOVAL: i64 = 1;

/// More IPUs than any Pod has. A forecast counts no others, so that a broken document costs little.
const MOST_IPUS: u32 = 1 << 20;

/// The forecast for one model of a document.
#[derive(Clone, Debug)]
pub struct ModelForecast<'a> {
    forecast: Forecast,
    /// The controllers of the Pods, in the order of the forecast.
    controllers: Vec<String>,
    line: Line<'a>,
}

/// The start of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The time, in seconds since the Unix epoch. [`Self::time`] tells whether it means anything.
    pub at: i64,
    /// The controller.
    pub controller: String,
    /// The IPUs. If the controller chooses places, it may choose others.
    pub places: Vec<Place>,
}

impl Start {
    /// The time. None if the start waits for a job without a time limit, which is taken to run for a year.
    pub fn time(&self, now: i64) -> Option<i64> {
        Some(self.at).filter(|at| *at < now.saturating_add_unsigned(UNLIMITED))
    }
}

impl<'a> ModelForecast<'a> {
    /// The number of jobs in line that have a plan. No forecast counts the jobs between them and a later one.
    pub const PLANS: usize = Forecast::PLANS;

    /// The forecast for a model at this time, in seconds since the Unix epoch. None if no job can start on it,
    /// or if the document has a model or a size that no model can have.
    pub fn new(status: &'a Status, model: &Model, now: i64) -> Option<Self> {
        if status.out_of_order.is_some() || model.pods.is_empty() {
            return None;
        }
        let now = now.max(status.written);
        let usable: Vec<_> = usable(model).collect();
        let in_time = |pod: &&Pod| in_time(status, model, pod, now);
        let pods = usable.iter().map(in_time).collect::<Option<Vec<_>>>()?;
        let name = ModelName::new(model.name.clone()).ok()?;
        let placement = if model.chooses_ipus { Placement::Explicit } else { Placement::Controller };
        let line = Line::new(status, name);
        let in_line = (0..line.jobs.len()).filter_map(|number| line.job(number)).take(Self::PLANS).collect();
        Some(Self {
            forecast: Forecast::new(
                Seconds(now),
                placement,
                &pods,
                other_needs(status, model, now)?,
                in_line,
            ),
            controllers: usable.iter().map(|pod| pod.controller.clone()).collect(),
            line,
        })
    }

    /// The start of the waiting job with this number among the model's jobs in line. The first has number 0.
    pub fn waiting(&self, number: usize) -> Option<Start> {
        let job = self.line.job(number)?;
        self.start(self.forecast.start_of(&job.wish, job.not_before, job.behind)?)
    }

    /// The start of that waiting job if it wanted so many IPUs for so long, at its place in line.
    pub fn changed(&self, number: usize, size: IpuCount, duration: Duration) -> Option<Start> {
        let job = self.line.job(number)?;
        let wish = Wish { size, duration, ..job.wish };
        self.start(self.forecast.start_of(&wish, job.not_before, job.behind)?)
    }

    /// The start of a job behind all others in line. None if it would never have its IPUs,
    /// as far as is known.
    pub fn new_job(&self, size: IpuCount, duration: Duration) -> Option<Start> {
        let rank = ledger::Rank { in_reservation: false, tier: 0, priority: 0, job: Reverse(u32::MAX) };
        let wish = Wish {
            model: self.line.model.clone(),
            size,
            rank,
            duration,
            controllers: None,
            components: Default::default(),
        };
        self.start(self.forecast.start_of(&wish, Seconds(i64::MIN), None)?)
    }

    fn start(&self, planned: PlannedStart) -> Option<Start> {
        let place = |place: ledger::Place| Place { domain: place.domain, index: place.index };
        Some(Start {
            at: planned.at.0,
            controller: self.controllers.get(planned.pod)?.clone(),
            places: planned.places.into_iter().map(place).collect(),
        })
    }
}

/// The number of partitions of this size that fit on a model now, all of them together.
pub fn room_for(status: &Status, model: &Model, size: IpuCount) -> u32 {
    let room = |pod: &Pod| Some(in_time(status, model, pod, status.written)?.room_for(size));
    usable(model).filter_map(room).sum()
}

/// Whether a partition of the model's pools serves a job of this size, free or not.
pub fn pool_serves(model: &Model, size: IpuCount) -> bool {
    let mut blocks = model.pods.iter().flat_map(|pod| &pod.pool).filter_map(pool_block);
    blocks.any(|block| block.serves(size))
}

/// None if no partition can have this size.
fn pool_block(it: &vipu_status::PoolBlock) -> Option<PoolBlock> {
    let size = IpuCount::new(it.size.into()).ok()?;
    Some(PoolBlock { size, is_reconfigurable: it.reconfigurable })
}

/// The Pods on which a partition can be made now.
fn usable(model: &Model) -> impl Iterator<Item = &Pod> {
    let is_usable = |pod: &&Pod| matches!(pod.contact, Contact::Reached { .. }) && pod.trouble.is_none();
    model.pods.iter().filter(is_usable)
}

/// The blocks of IPUs that partitions can have on a Pod. None if the document has a size that no Pod can have.
fn layout(model: &Model, pod: &Pod) -> Option<Layout> {
    if pod.pool.is_empty() {
        return Some(Layout::Domains(IpuCount::new(model.domain_size.into()).ok()?));
    }
    let is_whole = pod.pool.iter().map(|it| u64::from(it.size)).sum::<u64>() == u64::from(pod.ipus.total);
    let is_aligned = pod.pool.is_sorted_by(|one, next| one.size >= next.size);
    if !is_whole || !is_aligned || pod.ipus.total > MOST_IPUS {
        return None;
    }
    Some(Layout::Pool(pod.pool.iter().map(pool_block).collect::<Option<_>>()?))
}

/// The IPUs of a Pod in time. None if the document has a size that no Pod can have.
fn in_time(status: &Status, model: &Model, pod: &Pod, now: i64) -> Option<PodInTime> {
    let layout = layout(model, pod)?;
    let domain = layout.domain(pod.ipus.total.min(MOST_IPUS));
    let own = |it: &&Partition| {
        it.model == model.name && it.controller == pod.controller && it.state != State::Idle
    };
    let of_jobs = status.partitions.iter().filter(own).flat_map(|it| {
        let until = free_from(it, now).map(Seconds);
        it.places.iter().map(move |place| (ledger_place(*place), until))
    });
    let others = pod.others.iter().flat_map(|it| {
        let until = it.leaving.then(|| Seconds(now.saturating_add(REMOVAL)));
        it.places.iter().map(move |place| (ledger_place(*place), until))
    });
    let drains = status.drains.iter().filter(|drain| drain.covers(model, pod));
    let drained = drains.flat_map(|drain| {
        let until = drain.until.map(|until| Seconds(until.max(now).saturating_add(REMOVAL)));
        drained_places(drain, model, pod, domain).into_iter().map(move |place| (place, until))
    });
    let taken = of_jobs.chain(others).chain(drained).collect();
    Some(PodInTime {
        controller: pod.controller.parse().ok(),
        ipus: pod.ipus.total.min(MOST_IPUS),
        layout,
        taken,
    })
}

/// None if the document has a size that no Pod can have.
fn other_needs(status: &Status, model: &Model, now: i64) -> Option<OtherNeeds> {
    Some(OtherNeeds { licenses: licenses(status, model, now), whole_times: whole_times(model)? })
}

fn whole_times(model: &Model) -> Option<WholeTimes> {
    let Some(of_model) = &model.whole_times else { return Some(WholeTimes::default()) };
    let time = |it: &vipu_status::WholeTime| WholeTime {
        from: Seconds(it.from),
        until: Seconds(it.until),
        text: String::new(),
    };
    Some(WholeTimes {
        whole: IpuCount::new(of_model.ipus.into()).ok()?,
        times: of_model.times.iter().map(time).collect(),
        known_until: Seconds(of_model.known_until),
    })
}

fn licenses(status: &Status, model: &Model, now: i64) -> Licenses {
    let Some(license) = &model.license else { return Licenses::default() };
    let reservation = |it: &vipu_status::LicenseReservation| LicenseReservation {
        from: Seconds(it.from),
        until: Seconds(it.until),
        ipus: it.ipus,
    };
    let reserved = license.reservations.iter().map(reservation).collect();
    let has_job = |it: &&Partition| {
        use State::{Ending, Idle, Kept, Removing, Resetting};
        it.model == model.name && !matches!(it.state, Kept | Ending | Resetting | Idle | Removing)
    };
    let of_jobs = status.partitions.iter().filter(has_job);
    let in_use = of_jobs.filter_map(|it| Some((Seconds(free_from(it, now)?), it.size)));
    Licenses {
        reservations: LicenseReservations { total: license.total, reserved },
        in_use: in_use.collect(),
    }
}

/// The time from which the IPUs of a partition are free. None if it is unknown.
fn free_from(partition: &Partition, now: i64) -> Option<i64> {
    let end = match partition.state {
        State::Ending | State::Resetting | State::Removing | State::Failed => now,
        _ if partition.unlimited => now.saturating_add_unsigned(UNLIMITED),
        _ => partition.ends?,
    };
    Some(end.max(now).saturating_add(REMOVAL))
}

fn drained_places(drain: &Drain, model: &Model, pod: &Pod, domain: u32) -> Vec<ledger::Place> {
    match drain.places(model, pod) {
        Some(places) => places.into_iter().map(ledger_place).collect(),
        None => {
            let ipus = pod.ipus.total.min(MOST_IPUS) as usize;
            (0..ipus).map(|ipu| ledger::Place::numbered(ipu, domain)).collect()
        }
    }
}

fn ledger_place(place: Place) -> ledger::Place {
    ledger::Place { domain: place.domain, index: place.index }
}

/// The jobs in line of a model, the first one first. The document need not tell their ids, so each has its number in line.
#[derive(Clone, Debug)]
struct Line<'a> {
    model: ModelName,
    jobs: Vec<&'a WaitingJob>,
    written: Seconds,
}

impl<'a> Line<'a> {
    fn new(status: &'a Status, model: ModelName) -> Self {
        let jobs = status.line.iter().filter(|job| *job.model == *model.as_str()).collect();
        Self { model, jobs, written: Seconds(status.written) }
    }

    /// The job with this number. None if no partition can have its size.
    // Each call makes it, because the line can be long and few of its jobs are asked for.
    fn job(&self, number: usize) -> Option<InLine> {
        let job = self.jobs.get(number)?;
        let rank = ledger::Rank {
            in_reservation: job.rank.in_reservation,
            tier: job.rank.tier,
            priority: job.rank.priority,
            job: Reverse(u32::try_from(number).ok()?),
        };
        let size = IpuCount::new(job.size.into()).ok()?;
        let controllers =
            job.controllers.iter().map(|name| name.parse().ok()).collect::<Option<BTreeSet<_>>>()?;
        let controllers = Some(controllers).filter(|all| !all.is_empty());
        let duration = Duration::from_secs(job.duration);
        let behind = job.behind.and_then(|key| self.jobs.iter().position(|other| other.key == key));
        Some(InLine {
            wish: Wish {
                model: self.model.clone(),
                size,
                rank,
                duration,
                controllers,
                components: Default::default(),
            },
            not_before: Seconds(job.not_before),
            behind: behind.and_then(|number| u32::try_from(number).ok()),
            seen: self.written,
        })
    }
}

#[cfg(test)]
mod tests;
