//! A controller that refuses partitions for good. One job's request may be at fault, or the controller refuses all.

use std::cell::{Cell, RefCell};

use tokio::sync::Notify;

/// If so many different jobs in a row are refused, no job is at fault.
const EVERYBODYS: usize = 3;

/// What a controller has refused since it made a partition last.
#[derive(Default)]
pub(crate) struct Refusals {
    /// The jobs, each once, while they are few.
    jobs: RefCell<Vec<u32>>,
    refuses_all: Cell<bool>,
    over: Notify,
}

/// Whose fault a refusal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// That of what the job asked for.
    OfTheJob,
    /// The controller refuses all jobs; and whether that is news.
    OfTheController { is_news: bool },
}

impl Refusals {
    /// One more, of this job.
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

    /// It makes a partition; whether that is news.
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

    /// Waits until it makes partitions again.
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
    fn three_jobs_in_a_row_are_not_at_fault_and_one_success_says_that_others_are() {
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
