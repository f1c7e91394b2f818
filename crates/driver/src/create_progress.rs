//! What users are told who wait while their partition is made.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::Duration;

use ledger::Claim;
use tokio::time::{Instant, sleep};
use vipu_types::Ipus;

use crate::Environment;
use crate::context::Context;

/// No create is late before this, however fast the one before was.
const PATIENCE: Duration = Duration::from_secs(5);

/// How the making of a partition goes.
pub(crate) struct CreateProgress<'a> {
    claim: &'a Claim,
    began: Instant,
    usually: Option<Duration>,
    setback: RefCell<Option<String>>,
    /// The trouble that all wait for.
    waits_for: RefCell<Option<Rc<str>>>,
}

impl<'a> CreateProgress<'a> {
    /// Begins now; `usually` it takes so long.
    pub fn new(claim: &'a Claim, usually: Option<Duration>) -> Self {
        Self {
            claim,
            began: Instant::now(),
            usually,
            setback: RefCell::default(),
            waits_for: RefCell::default(),
        }
    }

    /// So many tries have failed, the last one so.
    pub fn failed(&self, tries: u32, trouble: &str) {
        self.setback.replace(Some(format!("try {tries}: {trouble}")));
    }

    /// The controller refuses all jobs, in these words; whether they are news.
    pub fn refused(&self, words: &str) -> bool {
        let words = format!("waiting: {words}");
        let before = self.setback.replace(Some(words));
        before != *self.setback.borrow()
    }

    /// How the last try failed, if one has.
    pub fn setback(&self) -> Option<String> {
        self.setback.borrow().clone()
    }

    /// All in one line.
    pub fn line(&self) -> String {
        let Self { claim, began, usually, .. } = self;
        let mut line =
            format!("vipu: creating partition {}: {} on {}", claim.partition, Ipus(claim.size), claim.model);
        if let Some(trouble) = &*self.waits_for.borrow() {
            return format!("{line}, waiting: {trouble}");
        }
        // Writing to a String cannot fail.
        if began.elapsed() >= self.patience() {
            let _ = write!(line, ", {:.0} s", began.elapsed().as_secs_f64());
            usually.iter().for_each(|usually| {
                let _ = write!(line, ", usually {:.1} s", usually.as_secs_f64());
            });
        }
        self.setback().iter().for_each(|setback| {
            let _ = write!(line, ", {setback}");
        });
        line
    }

    /// From when on it is late.
    fn patience(&self) -> Duration {
        self.usually.map_or(PATIENCE, |usually| PATIENCE.max(2 * usually))
    }

    /// Says that the partition is being made, and once more when that takes longer than usually; what squeue
    /// shows is told further, ever less often. Never ends.
    pub async fn announce<W: Environment>(&self, environment: &W) -> Infallible {
        environment.tell(self.claim.run, self.line());
        let mut pause = self.patience();
        sleep(pause).await;
        match self.waits_for.borrow().is_some() {
            true => environment.show(self.claim.run, self.line()),
            false => environment.tell(self.claim.run, self.line()),
        }
        loop {
            sleep(pause).await;
            environment.show(self.claim.run, self.line());
            pause = self.began.elapsed();
        }
    }

    /// Says what all jobs wait for, aloud once, and that it is over. Never ends.
    pub async fn announce_trouble<W: Environment>(&self, context: &Rc<Context<W>>) -> Infallible {
        let mut told = None;
        loop {
            let seen = context.news().count();
            let trouble = context.trouble_of(self.claim);
            let before = self.waits_for.replace(trouble.clone());
            if before != trouble && trouble.is_some() && trouble != told {
                context.environment.tell(self.claim.run, self.line());
                told = trouble;
            } else if before != trouble {
                context.environment.show(self.claim.run, self.line());
            }
            context.news().after(seen).await;
        }
    }
}
