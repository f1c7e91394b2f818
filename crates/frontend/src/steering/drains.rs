//! Drains in the form of the status document, which is also that of their file.

use std::time::Duration;

use ledger::{Drain, DrainScope, DrainedPart, Event, Place, Seconds};
use vipu_types::{BadName, ControllerName, ModelName, PartitionId};

use crate::frontend::Frontend;

impl Frontend {
    /// The drains, the first decision first.
    pub fn drains(&self) -> Vec<vipu_status::Drain> {
        self.ledger().drains().iter().map(in_document).collect()
    }

    /// Drains what an earlier slurmctld had drained.
    ///
    /// # Errors
    /// If a model or a controller cannot have its name. Then nothing is drained.
    pub fn restore_drains(&self, drains: &[vipu_status::Drain]) -> Result<(), BadName> {
        let drains = drains.iter().map(restored).collect::<Result<Vec<_>, _>>()?;
        for drain in drains {
            self.tell(Event::Drain(drain));
        }
        Ok(())
    }

    /// The time until the next drain is over. None if no drain has an end.
    pub fn time_to_end_of_drain(&self) -> Option<Duration> {
        let now = self.outside().unix_time();
        self.ledger().drains().iter().filter_map(|drain| drain.until).min().map(|until| until.since(now))
    }

    /// Ends the drains whose time is over, and returns whether there were any.
    pub fn end_drains(&self) -> bool {
        let now = self.outside().unix_time();
        let over: Vec<DrainScope> = {
            let ledger = self.ledger();
            let over = ledger.drains().iter().filter(|drain| drain.until.is_some_and(|until| until <= now));
            over.map(|drain| drain.scope.clone()).collect()
        };
        for scope in &over {
            tracing::info!("the drain of {scope} is over");
            self.tell(Event::Resume(scope.clone()));
        }
        !over.is_empty()
    }
}

fn in_document(drain: &Drain) -> vipu_status::Drain {
    let Drain { scope, reason, by, since, until } = drain.clone();
    let (place, partition) = match scope.part {
        DrainedPart::All => (None, None),
        DrainedPart::Ipu(Place { domain, index }) => (Some(vipu_status::Place { domain, index }), None),
        DrainedPart::Partition(partition) => (None, Some(partition.to_string())),
    };
    vipu_status::Drain {
        model: scope.model.to_string(),
        controller: scope.controller.map(|controller| controller.to_string()),
        place,
        partition,
        reason,
        by,
        since: since.0,
        until: until.map(|until| until.0),
    }
}

fn restored(drain: &vipu_status::Drain) -> Result<Drain, BadName> {
    let part = match (&drain.partition, drain.place) {
        (Some(partition), _) => DrainedPart::Partition(PartitionId::new(partition.clone())?),
        (None, Some(place)) => DrainedPart::Ipu(Place { domain: place.domain, index: place.index }),
        (None, None) => DrainedPart::All,
    };
    let scope = DrainScope {
        model: ModelName::new(drain.model.clone())?,
        controller: drain.controller.as_deref().map(str::parse::<ControllerName>).transpose()?,
        part,
    };
    Ok(Drain {
        scope,
        reason: vipu_types::shown(&drain.reason),
        by: vipu_types::shown(&drain.by),
        since: Seconds(drain.since),
        until: drain.until.map(Seconds),
    })
}
