//! The best possible packing: any free IPUs make a partition, as if all others could be moved aside at any
//! time.
//!
//! Order and rules are those of the ledger's plans. The first sixteen waiting jobs keep the time at which
//! enough IPUs will be free, and a later job may start before them if it makes none of them wait longer.
//! Other policies lose against this one only because they need blocks. The order is not the best: jobs would
//! wait less with short jobs first.

use std::collections::HashMap;

use ledger::KnownJobs;

use crate::{Job, Scheduler, Verdict};

/// The most plans, as in the ledger.
const MOST_PLANS: usize = 16;

/// A scheduler that counts IPUs without their places.
#[derive(Debug)]
pub struct BestPacking {
    ipus: u32,
    /// The size of each running job, and the end of its time limit.
    running: HashMap<u32, (u32, i64)>,
    /// The number of free IPUs from each time until the next. IPUs kept by a plan are not free.
    free_from: Vec<(i64, u32)>,
    plans: usize,
}

impl BestPacking {
    pub fn new(ipus: u32) -> Self {
        Self { ipus, running: HashMap::new(), free_from: Vec::new(), plans: 0 }
    }

    /// The first time from which the job's number of IPUs is free for its time limit.
    fn earliest(&self, job: &Job) -> i64 {
        let mut start = self.free_from[0].0;
        for (n, (from, free)) in self.free_from.iter().enumerate() {
            if *from >= start + job.limit {
                break;
            }
            if *free < job.size {
                start = self.free_from.get(n + 1).map_or(i64::MAX, |(next, _)| *next);
            }
        }
        start
    }

    fn take(&mut self, size: u32, start: i64, end: i64) {
        for time in [start, end] {
            let next = self.free_from.partition_point(|(from, _)| *from <= time);
            let (from, free) = self.free_from[next - 1];
            if from < time {
                self.free_from.insert(next, (time, free));
            }
        }
        let during = self.free_from.iter_mut().filter(|(from, _)| (start..end).contains(from));
        during.for_each(|(_, free)| *free -= size);
    }
}

impl Scheduler for BestPacking {
    fn begin_pass(&mut self, moment: &KnownJobs) {
        (self.free_from, self.plans) = (vec![(moment.now.0, self.ipus)], 0);
        for (size, end) in self.running.clone().into_values() {
            self.take(size, moment.now.0, end.max(moment.now.0 + 1));
        }
    }

    fn start(&mut self, job: &Job, moment: &KnownJobs) -> Verdict {
        let start = self.earliest(job);
        let starts = start == moment.now.0;
        if starts {
            self.running.insert(job.id, (job.size, start + job.limit));
        }
        if starts || self.plans < MOST_PLANS {
            self.plans += usize::from(!starts);
            self.take(job.size, start, start + job.limit);
        }
        if starts { Verdict::Starts } else { Verdict::Waits }
    }

    fn end(&mut self, job: &Job) {
        self.running.remove(&job.id);
    }
}
