//! The requests of administrators.
//!
//! They change the ledger by events, as everything else does. No request reaches into a running job.

mod drains;
mod free;
mod named_ipus;

use ledger::{Action, Drain, DrainScope, DrainedPart, DriverAction, Event, ModelFacts, Place, Seconds};
use tracing::{info, warn};
use vipu_admin::{Answer, Request};
use vipu_types::{Words, shown, words};

use self::named_ipus::Ipus;
use crate::frontend::Frontend;

/// The answer to a request, or the reason why nothing was changed.
type Outcome = Result<String, Words>;

impl Frontend {
    /// Carries out a request of the administrator with this name. Does not wait.
    ///
    /// A request may change [`Frontend::drains`], which the caller saves.
    pub fn steer(&self, by: &str, request: Request) -> Answer {
        let what = words(&request);
        let outcome = self.outcome(by, request);
        match &outcome {
            Ok(done) => info!("administrator {by}: {what}: {done}"),
            Err(why) => warn!("administrator {by}: {what}: refused: {why}"),
        }
        match outcome {
            Ok(done) => Answer::Done(done),
            Err(why) => Answer::Refused(why.into()),
        }
    }

    fn outcome(&self, by: &str, request: Request) -> Outcome {
        self.must_be_in_order()?;
        match request {
            Request::Drain { ipus, reason, until } => self.drain(by, &ipus, &reason, until),
            Request::Resume { ipus, .. } => self.resume(&ipus),
            Request::Free { partition, force, .. } => self.free(&partition, force),
            Request::Reconcile {} => self.reconcile(),
        }
    }

    fn drain(&self, by: &str, ipus: &str, reason: &str, until: Option<i64>) -> Outcome {
        let since = self.outside().unix_time();
        if until.is_some_and(|until| until <= since.0) {
            return Err("--until is in the past".into());
        }
        let reason = shown(reason.trim());
        if reason.is_empty() {
            return Err("a drain needs a reason, because users see it".into());
        }
        let scopes = Ipus::parse(ipus)?.among(&self.ledger().models())?;
        for scope in &scopes {
            let (scope, by, until) = (scope.clone(), by.to_owned(), until.map(Seconds));
            self.must_tell(Event::Drain(Drain { scope, reason: reason.clone(), by, since, until }))?;
        }
        Ok(format!("drained {}: {reason}; jobs that have IPUs there go on", list(&scopes)))
    }

    fn resume(&self, ipus: &str) -> Outcome {
        let wanted = Ipus::parse(ipus)?;
        let all: Vec<DrainScope> = self.ledger().drains().iter().map(|drain| drain.scope.clone()).collect();
        let (ours, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|scope| wanted.is(scope));
        if ours.is_empty() {
            let mut names: Vec<_> = others.iter().map(|scope| Ipus::from(scope).to_string()).collect();
            names.dedup();
            let drained = if names.is_empty() { "no IPUs".to_owned() } else { names.join(", ") };
            return Err(words!("{wanted} is not drained; drained: {drained}"));
        }
        wanted.must_be_of_one_controller(&ours)?;
        for scope in &ours {
            self.must_tell(Event::Resume(scope.clone()))?;
        }
        Ok(format!("resumed {}", list(&ours)))
    }

    fn reconcile(&self) -> Outcome {
        let models = self.ledger().models();
        let pods = models.iter().map(|model| &model.facts).flat_map(ModelFacts::pods);
        let surveys: Vec<_> = pods.map(|pod| Action::Driver(DriverAction::Survey(pod))).collect();
        let controllers = surveys.len();
        self.carry_out(surveys);
        let asked = match controllers {
            1 => "1 controller for its".to_owned(),
            _ => format!("{controllers} controllers for their"),
        };
        Ok(format!("asked {asked} IPUs and partitions; `svipu` shows the answers"))
    }

    fn must_be_in_order(&self) -> Result<(), Words> {
        let told = |why| Err(words!("slurm-vipu does nothing until slurmctld is restarted: {why}"));
        self.out_of_order().map_or(Ok(()), told)
    }

    fn must_tell(&self, event: Event) -> Result<(), Words> {
        let told = self.tell(event);
        told.then_some(()).ok_or("internal error, please report: see slurmctld's log".into())
    }
}

/// The request in words for the log.
fn words(request: &Request) -> String {
    let reason = request.reason().map(|reason| format!(" ({})", shown(reason))).unwrap_or_default();
    let target = request.target().map(|target| format!(" {}", shown(target))).unwrap_or_default();
    format!("{}{target}{reason}", request.action())
}

/// Neighbouring IPUs are told by the first and the last.
fn list(scopes: &[DrainScope]) -> String {
    let follows = |pair: &[DrainScope]| match (&pair[0].part, &pair[1].part) {
        (DrainedPart::Ipu(one), DrainedPart::Ipu(next)) => {
            let is_next = *next == Place { index: one.index + 1, ..*one };
            is_next && pair[0].model == pair[1].model && pair[0].controller == pair[1].controller
        }
        _ => false,
    };
    if let [first, _, .., last] = scopes
        && scopes.windows(2).all(follows)
    {
        return format!("{first} to {last}");
    }
    scopes.iter().map(DrainScope::to_string).collect::<Vec<_>>().join(", ")
}
