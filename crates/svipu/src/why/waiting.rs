//! A job that waits, with what decides about it.

use vipu_forecast::{ModelForecast, Start};
use vipu_status::{Contact, Drain, Model, Pod, Share, WaitingJob};

use crate::view::View;

/// A job that waits, with what decides about it.
pub(super) struct Waiting<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) row: &'a WaitingJob,
    pub(super) model: &'a Model,
    /// The jobs before it in line.
    pub(super) ahead: Vec<&'a WaitingJob>,
    /// None if no job can start on the model now.
    pub(super) forecast: Option<ModelForecast<'a>>,
    /// The time, but not before the document was written.
    pub(super) now: i64,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(view: &'a View<'a>, row: &'a WaitingJob, model: &'a Model) -> Self {
        let line = view.all.line.iter().filter(|other| other.model == row.model);
        let now = view.surroundings.now.max(view.all.written);
        let ahead = line.take_while(|other| other.key != row.key).collect();
        Self { view, row, model, ahead, forecast: forecast(view, model, now), now }
    }

    /// The expected start in the document. It has none for jobs far back in line. A plan without a time waits for
    /// jobs without a time limit.
    pub(super) fn start(&self) -> Option<Start> {
        let WaitingJob { start, planned_controller, planned_places, .. } = self.row;
        if self.forecast.is_none() || self.row.size > allowed(self.row, self.model) {
            return None;
        }
        Some(Start {
            at: start.unwrap_or(i64::MAX),
            controller: planned_controller.clone()?,
            places: planned_places.clone(),
        })
    }

    /// The start of the job, or of all components of its heterogeneous job, which start together.
    pub(super) fn common_start(&self) -> Option<i64> {
        let Some((leader, _)) = self.row.job.as_deref().and_then(|job| job.component) else {
            return self.row.start;
        };
        let is_beside = |row: &&WaitingJob| {
            let component = row.job.as_deref().and_then(|job| job.component);
            component.is_some_and(|(other, _)| other == leader)
        };
        let mut starts = self.view.all.line.iter().filter(is_beside).map(|row| row.start);
        starts.try_fold(i64::MIN, |latest, start| Some(latest.max(start?)))
    }

    /// The largest free block of a controller on which partitions can be made.
    pub(super) fn largest_free(&self) -> u32 {
        self.pods().map(|pod| pod.largest_free).max().unwrap_or(0)
    }

    /// The controllers on which partitions can be made.
    pub(super) fn pods(&self) -> impl Iterator<Item = &'a Pod> {
        let usable = |pod: &&Pod| matches!(pod.contact, Contact::Reached { .. }) && pod.trouble.is_none();
        self.model.pods.iter().filter(usable)
    }

    /// Whether a block is free now, and the job starts on IPUs as soon as it has nodes and all else.
    pub(super) fn lacks_only_nodes(&self) -> bool {
        let not_before = self.row.not_before;
        not_before > self.now
            && self.largest_free() >= self.row.size
            && self.start().is_some_and(|start| start.at <= not_before)
    }

    /// Whether jobs without a plan are before this one, which no forecast counts.
    pub(super) fn is_far_back(&self) -> bool {
        self.ahead.len() > ModelForecast::PLANS
    }
}

/// The forecast for a model. None if nothing new starts on it.
pub(super) fn forecast<'a>(view: &View<'a>, model: &Model, now: i64) -> Option<ModelForecast<'a>> {
    let is_whole =
        |drain: &Drain| drain.model == model.name && drain.controller.is_none() && drain.is_whole();
    let is_endless = |drain: &Drain| is_whole(drain) && drain.until.is_none();
    let stopped = model.trouble.is_some() || !model.conf.in_force || view.all.drains.iter().any(is_endless);
    if stopped { None } else { ModelForecast::new(view.all, model, now) }
}

/// The largest size that the limits of a model allow the job now.
pub(super) fn allowed(row: &WaitingJob, model: &Model) -> u32 {
    let limits = &model.limits;
    let qos = row.job.as_deref().and_then(|job| job.qos.as_deref());
    let of_qos = qos.and_then(|name| limits.job_in_qos.get(name)).copied().unwrap_or(limits.job);
    let Some(name) = slurm_partition(row) else { return limits.job.min(of_qos) };
    let of_job = limits.job_in_slurm_partition.get(name).copied().unwrap_or(limits.job);
    let left = |share: &Share| u32::try_from(u64::from(share.limit).saturating_sub(share.used)).unwrap_or(0);
    let of_all = limits.slurm_partition.get(name).map_or(limits.job, left);
    limits.job.min(of_qos).min(of_job).min(of_all)
}

/// The Slurm partition of the job, if it is known.
pub(super) fn slurm_partition(row: &WaitingJob) -> Option<&str> {
    row.job.as_deref()?.slurm_partition.as_deref()
}
