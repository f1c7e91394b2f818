//! The mock controller of a cluster, by way of its container's `vipu-control`.

use std::time::Duration;

use anyhow::{Context, Result};
use mock_vipu::{Fault, PartitionRecord, Report};
use serde_json::{Value, json};

use super::Host;
use crate::{mock_controller::record_of, wait_for};

/// The mock controller.
#[derive(Debug)]
pub struct Controller {
    host: Host,
}

impl Controller {
    pub(super) fn new(host: Host) -> Self {
        Self { host }
    }

    /// Its host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    fn tell(&self, command: &str) -> Result<Value> {
        let answer = self.host.command("vipu-control").args(&[command]).success()?.stdout;
        serde_json::from_str(&answer).with_context(|| format!("the mock answers '{answer}'"))
    }

    /// Everything it did, over all its starts.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn report(&self) -> Result<Report> {
        let report = self.tell("report")?["report"].take();
        serde_json::from_value(report).context("the mock's report")
    }

    /// The names of the partitions that exist.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn partitions(&self) -> Result<Vec<String>> {
        Ok(self.report()?.present().map(|record| record.id.clone()).collect())
    }

    /// The latest life of the partition of this name.
    ///
    /// # Errors
    /// When there never was one.
    pub fn record(&self, partition: &str) -> Result<PartitionRecord> {
        record_of(&self.report()?, partition)
    }

    /// Waits until a partition of this name is as wanted, and returns its life.
    ///
    /// # Errors
    /// When it is not after `limit`.
    pub fn await_partition(
        &self,
        partition: &str,
        what: &str,
        limit: Duration,
        wanted: impl Fn(&PartitionRecord) -> bool,
    ) -> Result<PartitionRecord> {
        wait_for(&format!("partition {partition} {what}"), limit, || {
            Ok(self.report()?.partition(partition).filter(|record| wanted(record)).cloned())
        })
    }

    /// Waits until this partition is gone, and returns its life.
    ///
    /// # Errors
    /// When it stays.
    pub fn await_removed(&self, partition: &str, limit: Duration) -> Result<PartitionRecord> {
        self.await_partition(partition, "to go", limit, |record| record.removed.is_some())
    }

    /// Lets something go wrong from now on.
    ///
    /// # Errors
    /// When the mock does not answer.
    pub fn inject(&self, fault: &Fault) -> Result<()> {
        self.tell(&json!({ "inject": fault }).to_string()).map(drop)
    }
}
