//! The messages for users about the create of a partition.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::Duration;

use ledger::Claim;
use tokio::time::{Instant, sleep};
use vipu_types::{Ipus, Reason};

use crate::Environment;
use crate::shared_state::SharedState;

/// A create is not late before this time, however fast the one before was.
const PATIENCE: Duration = Duration::from_secs(5);

/// The beginning of a setback by a controller that refuses all jobs.
const WAITING: &str = "waiting: ";

/// The progress of a create.
pub(crate) struct CreateProgress<'a> {
    claim: &'a Claim,
    began: Instant,
    usually: Option<Duration>,
    setback: RefCell<Option<String>>,
    /// The trouble that all jobs wait for.
    waits_for: RefCell<Option<Rc<str>>>,
}

fn beginning(claim: &Claim) -> String {
    format!("vipu: creating partition {}: {} on {}", claim.partition, Ipus(claim.size), claim.model)
}

/// The progress of a create for programs. `how` tells more than that it goes on.
fn brief(claim: &Claim, how: &str) -> String {
    format!("vipu: creating a partition of {} on {}{how}", Ipus(claim.size), claim.model)
}

/// The progress of a create that waits, with the reason.
pub(crate) fn waiting(claim: &Claim, why: &str) -> Reason {
    Reason::new(brief(claim, " - waiting"), format!("{}, waiting: {why}", beginning(claim)))
}

impl<'a> CreateProgress<'a> {
    /// Progress that begins now. `usually` is the usual duration.
    pub fn new(claim: &'a Claim, usually: Option<Duration>) -> Self {
        Self {
            claim,
            began: Instant::now(),
            usually,
            setback: RefCell::default(),
            waits_for: RefCell::default(),
        }
    }

    /// The time since the create began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Notes that the try number `tries` failed with `trouble`.
    pub fn failed(&self, tries: u32, trouble: &str) {
        self.setback.replace(Some(format!("try {tries}: {trouble}")));
    }

    /// Notes that the controller refuses all jobs, with its words. Returns whether the words are news.
    pub fn refused(&self, words: &str) -> bool {
        let words = format!("{WAITING}{words}");
        let before = self.setback.replace(Some(words));
        before != *self.setback.borrow()
    }

    /// The failure of the last try, if one failed.
    pub fn setback(&self) -> Option<String> {
        self.setback.borrow().clone()
    }

    /// The progress, as it is now.
    pub fn reason(&self) -> Reason {
        let Self { claim, began, usually, .. } = self;
        if let Some(trouble) = &*self.waits_for.borrow() {
            return waiting(claim, trouble);
        }
        let mut line = beginning(claim);
        let is_late = began.elapsed() >= self.patience();
        // Writing to a String cannot fail.
        if is_late {
            let _ = write!(line, ", {:.0} s", began.elapsed().as_secs_f64());
            usually.iter().for_each(|usually| {
                let _ = write!(line, ", usually {:.1} s", usually.as_secs_f64());
            });
        }
        self.setback().iter().for_each(|setback| {
            let _ = write!(line, ", {setback}");
        });
        let how = match &*self.setback.borrow() {
            Some(setback) if setback.starts_with(WAITING) => " - waiting",
            Some(_) => " - tried again",
            None if is_late => " - late",
            None => "",
        };
        Reason::new(brief(claim, how), line)
    }

    /// The time after which the create is late.
    fn patience(&self) -> Duration {
        self.usually.map_or(PATIENCE, |usually| PATIENCE.max(2 * usually))
    }

    /// Tells the user that the partition is being made, and once more if that takes longer than usual. After
    /// that the text of squeue is updated, ever less often. Never returns.
    pub async fn announce<W: Environment>(&self, environment: &W) -> Infallible {
        environment.tell(self.claim.run, self.reason());
        let mut pause = self.patience();
        sleep(pause).await;
        match self.waits_for.borrow().is_some() {
            true => environment.show(self.claim.run, self.reason()),
            false => environment.tell(self.claim.run, self.reason()),
        }
        loop {
            sleep(pause).await;
            environment.show(self.claim.run, self.reason());
            pause = self.began.elapsed();
        }
    }

    /// Tells the user about each new trouble that all jobs wait for. Other changes appear in squeue only. Never
    /// returns.
    pub async fn announce_trouble<W: Environment>(&self, shared: &Rc<SharedState<W>>) -> Infallible {
        let mut told = None;
        loop {
            let seen = shared.resources.news().count();
            let trouble = shared.trouble_of(self.claim);
            let before = self.waits_for.replace(trouble.clone());
            if before != trouble && trouble.is_some() && trouble != told {
                shared.environment.tell(self.claim.run, self.reason());
                told = trouble;
            } else if before != trouble {
                shared.environment.show(self.claim.run, self.reason());
            }
            shared.resources.news().after(seen).await;
        }
    }
}
