//! The use of a model over the last hour.

use vipu_status::Model;

/// The minutes that are shown.
pub(super) const MINUTES: usize = 60;

/// A value for each of the last minutes, the oldest first. None if the document has none for the minute.
pub(super) type Series = [Option<u64>; MINUTES];

/// The use over the last hour.
pub(super) struct History {
    pub(super) used: Series,
    /// The greatest value that `used` can have.
    pub(super) total: u64,
    pub(super) waiting: Series,
}

impl History {
    /// The history of a model. None if the document has none.
    pub(super) fn new(model: &Model) -> Option<Self> {
        let newest = model.last_hour.last()?.at;
        let mut history = Self { used: [None; MINUTES], total: 0, waiting: [None; MINUTES] };
        for minute in &model.last_hour {
            // The writer need not be punctual: half a minute is rounded.
            let ago = newest.saturating_sub(minute.at).saturating_add(30) / 60;
            let place = usize::try_from(ago).ok().and_then(|ago| (MINUTES - 1).checked_sub(ago));
            if let Some(place) = place {
                history.used[place] = Some(minute.used.into());
                history.waiting[place] = Some(minute.waiting.into());
            }
        }
        history.total = model.pods.iter().map(|pod| u64::from(pod.ipus.total)).sum();
        Some(history)
    }
}
