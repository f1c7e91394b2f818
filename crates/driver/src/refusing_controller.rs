//! Refusals of a controller for good. Either the request of one job is at fault, or the controller refuses
//! all jobs.

use std::cell::{Cell, RefCell};

use tokio::sync::Notify;

/// The number of different jobs refused in a row from which on no job is at fault.
const EVERYBODYS: usize = 3;

/// The refusals of a controller since it last made a partition.
#[derive(Default)]
pub(crate) struct Refusals {
    /// The refused jobs, each once, while they are few.
    jobs: RefCell<Vec<u32>>,
    refuses_all: Cell<bool>,
    over: Notify,
}

/// The party at fault for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The job, because of its request.
    OfTheJob,
    /// The controller, which refuses all jobs. Has whether that is news.
    OfTheController { is_news: bool },
}

impl Refusals {
    /// Adds a refusal of this job.
    pub fn add(&self, job: u32) -> Fault {
        let mut jobs = self.jobs.borrow_mut();
        if !self.refuses_all.get() && !jobs.contains(&job) {
            jobs.push(job);
        }
        let is_everybodys = jobs.len() >= EVERYBODYS;
        match is_everybodys {
            true => Fault::OfTheController { is_news: !self.refuses_all.replace(true) },
            false => Fault::OfTheJob,
        }
    }

    /// Notes that the controller makes a partition. Returns whether that is news.
    pub fn success(&self) -> bool {
        self.jobs.borrow_mut().clear();
        let is_news = self.refuses_all.replace(false);
        if is_news {
            self.over.notify_waiters();
        }
        is_news
    }

    pub fn refuses_all(&self) -> bool {
        self.refuses_all.get()
    }

    /// Waits until the controller makes partitions again.
    pub async fn over(&self) {
        let over = self.over.notified();
        if self.refuses_all.get() {
            over.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_jobs_in_a_row_are_not_at_fault_until_a_success() {
        let refusals = Refusals::default();
        assert_eq!([1, 1, 2, 1, 2].map(|job| refusals.add(job)), [Fault::OfTheJob; 5]);
        assert!(!refusals.success());
        assert_eq!([3, 4].map(|job| refusals.add(job)), [Fault::OfTheJob; 2]);
        let everybodys = [5, 5, 3].map(|job| refusals.add(job));
        assert_eq!(everybodys, [true, false, false].map(|is_news| Fault::OfTheController { is_news }));
        assert!(refusals.success());
        assert_eq!(refusals.add(5), Fault::OfTheJob);
    }
}
