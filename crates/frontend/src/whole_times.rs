//! The times of the next weeks in which only the largest jobs run (WholeTimes).

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::{Seconds, WholeTime, WholeTimes};
use vipu_types::{ModelName, WeeklyTimes};

use crate::clocks_and_queues::Outside;
use crate::models::Models;
use crate::mutex::{Mutex, lock};

/// The seconds of a day.
const DAY: i64 = 24 * 3600;

/// The days for which the times are known. No job with a longer time limit can start beside times of each week.
const DAYS_AHEAD: i64 = 35;

/// The day of the week on which the Unix epoch begins, a Thursday. Monday is day 0.
const DAY_OF_EPOCH: i64 = 3;

type OfModels = Arc<BTreeMap<ModelName, WholeTimes>>;

/// The times of all models, calculated once a day.
#[derive(Default)]
pub(crate) struct KnownTimes(Mutex<Option<(i64, OfModels)>>);

impl KnownTimes {
    /// Forgets them, because settings have changed.
    pub(crate) fn forget(&self) {
        *lock(&self.0) = None;
    }

    /// The times of the models that have some.
    pub(crate) fn of_models(&self, models: &Models, outside: &dyn Outside) -> OfModels {
        let now = outside.unix_time();
        let today = now.0.div_euclid(DAY);
        let mut known = lock(&self.0);
        if let Some((day, times)) = &*known
            && *day == today
        {
            return Arc::clone(times);
        }
        let times = Arc::new(calculate(models, outside, now));
        *known = Some((today, Arc::clone(&times)));
        times
    }
}

fn calculate(models: &Models, outside: &dyn Outside, now: Seconds) -> BTreeMap<ModelName, WholeTimes> {
    let utc_offset = |at| outside.utc_offset(Seconds(at));
    let with_times = models.0.iter().filter_map(|(name, model)| {
        let weekly = &model.settings.as_ref()?.whole_times;
        weekly.iter().next()?;
        let (times, known_until) = in_next_weeks(weekly, now.0, &utc_offset);
        let whole = model.whole()?;
        Some((name.clone(), WholeTimes { whole, times: times.into(), known_until: Seconds(known_until) }))
    });
    with_times.collect()
}

/// The times of the next weeks, and the end of these weeks.
fn in_next_weeks(weekly: &WeeklyTimes, now: i64, utc_offset: &impl Fn(i64) -> i64) -> (Vec<WholeTime>, i64) {
    // The offset of a time that is given as local time is that of about this time.
    let at_local = |local: i64| local - utc_offset(local - utc_offset(now));
    let today = (now + utc_offset(now)).div_euclid(DAY);
    let mut times = Vec::new();
    // A time that began yesterday may last until today.
    for day in today - 1..today + DAYS_AHEAD {
        let day_of_week = usize::try_from((day + DAY_OF_EPOCH).rem_euclid(7)).unwrap_or_default();
        for time in weekly.iter().filter(|time| time.begins_on(day_of_week)) {
            let (hour, minute) = time.start();
            let start = day * DAY + i64::from(hour) * 3600 + i64::from(minute) * 60;
            times.push(WholeTime {
                from: Seconds(at_local(start)),
                until: Seconds(at_local(start + i64::from(time.minutes()) * 60)),
                text: time.to_string(),
            });
        }
    }
    times.sort_by_key(|time| time.from);
    (times, at_local((today + DAYS_AHEAD) * DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-10-20 12:00 UTC, a Tuesday.
    const TUESDAY: i64 = 1_792_497_600;
    /// 2026-10-25 01:00 UTC: Central Europe goes from UTC+2 to UTC+1.
    const CHANGE: i64 = 1_792_890_000;

    #[test]
    fn times_follow_the_local_clock() {
        let weekly = "sat-sun 22:00-06:00".parse().unwrap();
        let central_europe = |at: i64| if at < CHANGE { 7200 } else { 3600 };
        let (times, known_until) = in_next_weeks(&weekly, TUESDAY, &central_europe);
        let hours = |time: &WholeTime| (time.until.0 - time.from.0) / 3600;
        let saturday = times.iter().find(|time| time.from.0 > TUESDAY).unwrap();
        assert_eq!(saturday.from.0, TUESDAY + 4 * DAY + 8 * 3600, "20:00 UTC");
        assert_eq!(times[..3].iter().map(hours).collect::<Vec<_>>(), [9, 8, 9 - 1]);
        assert_eq!((known_until - TUESDAY) / DAY, DAYS_AHEAD - 1);
    }

    #[test]
    fn a_time_that_began_yesterday_counts() {
        let weekly = "mon 22:00-21:00".parse().unwrap();
        let (times, _) = in_next_weeks(&weekly, TUESDAY, &|_| 0);
        assert_eq!(times[0].from.0, TUESDAY - 14 * 3600);
        assert!(times[0].until.0 > TUESDAY && times[1].from.0 == times[0].from.0 + 7 * DAY);
    }
}
