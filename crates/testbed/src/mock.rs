//! The mock controllers of a cluster, seen through their control channels.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Mutex, OnceLock},
    time::Duration,
};

use anyhow::{Context, Result};
use mock_vipu::{Fault, Incident, PartitionRecord, Report, control::Control};

use crate::{
    Account, Layout,
    cluster::held,
    daemon::Daemon,
    process::{Lead, Leashed},
    settings::Settings,
    wait_for,
};

/// A running `mock-vipu-server`.
#[derive(Debug)]
pub struct Mock {
    process: Leashed,
    control: OnceLock<Mutex<Control>>,
    control_at: SocketAddr,
    port: u16,
}

/// Where it listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MockPorts {
    pub(crate) api: u16,
    pub(crate) control: u16,
}

impl Mock {
    /// Starts that of the controller of this number.
    pub(crate) fn start(
        lead: &Lead,
        layout: &Layout,
        account: &Account,
        (number, ports): (usize, MockPorts),
        settings: &Settings,
    ) -> Result<Self> {
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let control_at = at(ports.control);
        let milliseconds = |time: Duration| format!("{}ms", time.as_millis());
        let own = [
            format!("--listen={}", at(ports.api)),
            format!("--control={control_at}"),
            format!("--create-latency={}", milliseconds(settings.create_time)),
            format!("--remove-latency={}", milliseconds(settings.remove_time)),
            format!("--state-file={}", layout.root().join(format!("mock/state-{number}.json")).display()),
        ];
        let more = number.checked_sub(1).map_or(&settings.mock, |later| &settings.more_mocks[later]);
        let args: Vec<_> = own.iter().chain(more).map(String::as_str).collect();
        let daemon = Daemon::new("mock-vipu-server", &args, account);
        let process = match number {
            0 => daemon,
            _ => daemon.logging_as(format!("mock-vipu-server-{number}")),
        }
        .start(lead, layout)?;
        Ok(Self { process, control: OnceLock::new(), control_at, port: ports.api })
    }

    /// Waits until it answers.
    pub(crate) fn connect(&mut self, limit: Duration) -> Result<()> {
        let control = wait_for("mock-vipu-server to answer", limit, || {
            anyhow::ensure!(self.process.ended()?.is_none(), "mock-vipu-server has ended");
            Ok(Control::connect(self.control_at).ok())
        })?;
        self.control.get_or_init(|| Mutex::new(control));
        Ok(())
    }

    fn control(&self) -> Result<&Mutex<Control>> {
        self.control.get().context("mock-vipu-server was never reached")
    }

    /// The port of its API.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Everything it did.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn report(&self) -> Result<Report> {
        Ok(held(self.control()?).report()?)
    }

    /// The names of the partitions that exist, those of others excepted.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn partitions(&self) -> Result<Vec<String>> {
        let report = self.report()?;
        let ours = report.present().filter(|record| !record.foreign);
        Ok(ours.map(|record| record.id.clone()).collect())
    }

    /// The latest life of the partition of this name.
    ///
    /// # Errors
    /// When there never was one.
    pub fn record(&self, partition: &str) -> Result<PartitionRecord> {
        let report = self.report()?;
        report
            .partition(partition)
            .cloned()
            .with_context(|| format!("there never was a partition {partition}"))
    }

    /// Waits until a create call for this partition has come.
    ///
    /// # Errors
    /// When none comes.
    pub fn await_created(&self, partition: &str, limit: Duration) -> Result<PartitionRecord> {
        wait_for(&format!("partition {partition} to be asked for"), limit, || {
            Ok(self.report()?.partition(partition).cloned())
        })
    }

    /// Waits until this partition is gone, and returns its life.
    ///
    /// # Errors
    /// When it stays.
    pub fn await_removed(&self, partition: &str, limit: Duration) -> Result<PartitionRecord> {
        wait_for(&format!("partition {partition} to go"), limit, || {
            Ok(self.report()?.partition(partition).filter(|record| record.removed.is_some()).cloned())
        })
    }

    /// Every case in which an IPU had two owners.
    pub(crate) fn owned_twice(&self) -> Result<Vec<String>> {
        let cases = self.report()?.ever_double_owned;
        Ok(cases
            .iter()
            .map(|case| format!("IPU {} by {} and {}", case.ipu, case.first, case.second))
            .collect())
    }

    /// Lets something go wrong from now on.
    ///
    /// # Errors
    /// When the mock does not answer.
    pub fn inject(&self, fault: Fault) -> Result<()> {
        Ok(held(self.control()?).inject(fault)?)
    }

    /// Makes something happen.
    ///
    /// # Errors
    /// When it cannot happen.
    pub fn cause(&self, incident: Incident) -> Result<()> {
        Ok(held(self.control()?).cause(incident)?)
    }

    /// Cuts its connections and refuses new ones, as a controller that is down does.
    ///
    /// # Errors
    /// When the mock does not answer.
    pub fn refuse(&self) -> Result<()> {
        Ok(held(self.control()?).refuse()?)
    }

    /// Lets nothing go wrong any more, and accepts connections again.
    ///
    /// # Errors
    /// When the mock does not answer.
    pub fn clear(&self) -> Result<()> {
        Ok(held(self.control()?).clear()?)
    }

    pub(crate) fn into_process(self) -> Leashed {
        self.process
    }
}
