//! What the audit log tells about partitions.

use serde::Serialize;

/// The partitions whose history a command shows.
pub(crate) enum Of {
    /// Those of these jobs.
    Jobs(Vec<u32>),
    /// Those with this id.
    Partition(String),
    /// Those that the options choose.
    Selected,
}

/// What the audit log tells about some partitions.
pub(crate) struct Log {
    /// The time of its oldest line. None if it is empty.
    pub(crate) since: Option<i64>,
    /// The partitions, in the order in which they were asked for. One of several jobs is there for each of them.
    pub(crate) histories: Vec<History>,
}

/// What the audit log tells about a partition and one of its jobs. Times are Unix times in seconds. What the log lacks is `None`.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct History {
    pub(crate) partition: String,
    pub(crate) model: String,
    pub(crate) controller: String,
    /// Slurm's id of its job.
    pub(crate) job: Option<u32>,
    /// The job that had it before. None if it was made for its job.
    pub(crate) before: Option<u32>,
    /// The numeric id of its user.
    pub(crate) user: Option<u32>,
    /// The name of its user, for JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_name: Option<String>,
    /// Its number of IPUs.
    pub(crate) ipus: Option<u32>,
    /// The time of the first call that asked for it.
    pub(crate) asked: Option<i64>,
    pub(crate) ready: Option<i64>,
    /// The seconds from the first call until it was ready.
    pub(crate) making: Option<f64>,
    /// The time from which it stayed idle after its job.
    pub(crate) idle: Option<i64>,
    /// The time of the first call that had it removed.
    pub(crate) removal: Option<i64>,
    /// The state of the partition at that time.
    pub(crate) removal_why: Option<String>,
    /// The request that had a partition removed which was kept or prepared.
    pub(crate) freed: Option<Freed>,
    pub(crate) gone: Option<i64>,
    /// The seconds from the first call until it was gone.
    pub(crate) removing: Option<f64>,
    /// The part of the time from `asked` to `idle` or `gone` that `making` and `removing` took.
    pub(crate) share: Option<f64>,
    pub(crate) failures: Vec<FailedCalls>,
}

/// A request to remove a partition.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Freed {
    /// The administrator, or the number of the user.
    pub(crate) by: Option<String>,
    pub(crate) reason: Option<String>,
}

/// Calls that failed.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct FailedCalls {
    /// The call: `create` or `remove`.
    pub(crate) call: String,
    pub(crate) outcome: String,
    pub(crate) count: u64,
}

/// The sums over the past partitions of a user.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Totals {
    pub(crate) partitions: usize,
    /// IPUs multiplied by hours, from `asked` to `idle` or `gone`.
    pub(crate) ipu_hours: f64,
    /// The seconds that making and removing took.
    pub(crate) making_and_removing: f64,
    /// The seconds from `asked` to `idle` or `gone`.
    pub(crate) time: f64,
}

impl History {
    /// The time from which its job had it no longer: it was idle or gone.
    pub(crate) fn end(&self) -> Option<i64> {
        self.idle.or(self.gone)
    }

    /// The seconds from `asked` to the end. Making and removing are known more exactly than these.
    pub(crate) fn time(&self) -> Option<f64> {
        let time = self.end()?.saturating_sub(self.asked?);
        #[expect(clippy::cast_precision_loss, reason = "a time of more than 2^53 seconds is wrong anyhow")]
        Some((time as f64).max(self.making_and_removing()))
    }

    /// The seconds that making and removing took. The removal of an idle partition cost its job nothing.
    pub(super) fn making_and_removing(&self) -> f64 {
        let removing = self.removing.filter(|_| self.idle.is_none());
        self.making.unwrap_or(0.0) + removing.unwrap_or(0.0)
    }
}

impl Totals {
    pub(crate) fn of(past: &[&History]) -> Self {
        let mut totals = Self { partitions: past.len(), ..Self::default() };
        for (history, time) in past.iter().filter_map(|history| Some((history, history.time()?))) {
            totals.ipu_hours += f64::from(history.ipus.unwrap_or(0)) * time / 3600.0;
            totals.making_and_removing += history.making_and_removing();
            totals.time += time;
        }
        totals
    }
}
