//! The partitions of this cluster on the controllers.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use driver::journal::LiveRecord;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::runtime::{Builder, Runtime};
use vipu_client::{Client, Endpoint};
use vipu_conf::Settings;
use vipu_types::PartitionId;

use super::jobs::{Job, JobState};
use super::site::{Left, Site};

/// A controller of the site.
pub struct Controller {
    /// Host and port.
    pub name: String,
    prefix: String,
    pub client: Client,
    /// Whether errors on the way to a removal do not matter (ForceDeletePartition).
    pub force: bool,
}

pub fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// All controllers of the settings, each once.
pub fn controllers(site: &Site) -> Result<Vec<Controller>> {
    let mut all = BTreeMap::new();
    for settings in site.settings.as_deref().unwrap_or_default() {
        for name in &settings.controllers {
            let client = Client::new(endpoint(settings, name.host(), name.port()))?;
            let (prefix, force) = (settings.partition_prefix.clone(), settings.force_delete_partition);
            all.entry(name.to_string()).or_insert(Controller {
                name: name.to_string(),
                prefix,
                client,
                force,
            });
        }
    }
    Ok(all.into_values().collect())
}

fn endpoint(settings: &Settings, host: &str, port: u16) -> Endpoint {
    Endpoint {
        tls: settings.tls(),
        access: settings.access(),
        ..Endpoint::plain(host, port, settings.api_timeout)
    }
}

impl Controller {
    /// The partitions on this controller that this cluster made, or that are named as if it had.
    pub async fn own(&self, journal: &[LiveRecord]) -> Result<Vec<String>, vipu_client::Error> {
        let is_recorded = |id: &str| journal.iter().any(|record| record.claim.partition.as_str() == id);
        let is_named = |id: &str| PartitionId::new(id).is_ok_and(|id| id.job(&self.prefix).is_some());
        let listed = self.client.list_partitions(None).await?.into_iter().map(|partition| partition.id);
        Ok(listed.filter(|id| is_recorded(id) || is_named(id)).collect())
    }
}

/// Whether the job of a partition is active, so that its processes may use the IPUs.
pub fn is_in_use(record: &LiveRecord, jobs: &[Job]) -> bool {
    let job = record.claim.run.job;
    jobs.iter().any(|known| known.id == job && known.state == JobState::Active)
}

/// A partition, and until when it is kept.
fn described(id: &str, journal: &[LiveRecord]) -> String {
    let record = journal.iter().find(|record| record.claim.partition.as_str() == id);
    match record.and_then(LiveRecord::kept).and_then(|until| Timestamp::from_second(until.0).ok()) {
        Some(until) => {
            format!("{id} (kept until {})", until.to_zoned(TimeZone::system()).strftime("%Y-%m-%dT%H:%M:%S"))
        }
        None => id.to_owned(),
    }
}

pub fn left(site: &Site) -> Result<Vec<Left>> {
    let mut left = Vec::new();
    let journal = match &site.journal {
        Ok(journal) => &journal[..],
        Err(why) => {
            let fix = "install the slurm-vipu that wrote it, or run this as root";
            left.push(Left::new(site.journal_path().display().to_string(), why.to_string(), fix));
            &[]
        }
    };
    let recorded_on = |name: &str| {
        let recorded = journal.iter().filter(|record| record.claim.controller.to_string() == name);
        recorded.map(|record| record.claim.partition.to_string()).collect::<Vec<_>>().join(" ")
    };
    let (controllers, runtime) = (controllers(site)?, runtime()?);
    let recorded: BTreeSet<_> = journal.iter().map(|record| record.claim.controller.to_string()).collect();
    for name in recorded.iter().filter(|name| !controllers.iter().any(|named| named.name == **name)) {
        let what = format!("the journal has there: {}", recorded_on(name));
        let fix = "no vipu.conf names it: name it in ApiHost until these are removed";
        left.push(Left::new(format!("controller {name}"), what, fix));
    }
    for controller in controllers {
        let subject = format!("controller {}", controller.name);
        match runtime.block_on(controller.own(journal)) {
            Ok(own) if own.is_empty() => {}
            Ok(own) => {
                let own: Vec<_> = own.iter().map(|id| described(id, journal)).collect();
                let fix = match site.has_our_selector() {
                    true => {
                        "slurm-vipu removes those of jobs at their end; svipu partition free ID --reason TEXT frees kept ones"
                    }
                    false => {
                        "slurm-vipu-setup leave --clean removes those of the journal; vipu remove partition ID the others"
                    }
                };
                left.push(Left::new(subject, format!("partitions {}", own.join(", ")), fix));
            }
            Err(why) => {
                let what =
                    format!("{}; the journal has there: {}", why.words(), recorded_on(&controller.name));
                left.push(Left::new(subject, what, "mend this, and run the check again"));
            }
        }
    }
    Ok(left)
}
