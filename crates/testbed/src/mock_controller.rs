//! The mock controllers of a cluster, seen through their control channels.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use mock_vipu::{
    Fault, Incident, PartitionRecord, Report,
    control::{Command, Control},
};
use rustix::process::Signal;

use crate::{
    Account, Layout,
    cluster::daemon::{self, Daemon},
    cluster::locked,
    process::{Lead, Leashed},
    settings::Settings,
    wait_for, wait_until,
};

const RESTART_LIMIT: Duration = Duration::from_secs(30);

/// A running `mock-vipu-server`.
#[derive(Debug)]
pub struct Mock {
    control: Mutex<Option<Control>>,
    control_at: SocketAddr,
    port: u16,
    own: Option<OwnProcess>,
}

/// The process of a mock that the testbed has started.
#[derive(Debug)]
struct OwnProcess {
    daemon: Daemon,
    process: Mutex<Leashed>,
    state_file: PathBuf,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct MockPorts {
    pub(crate) api: u16,
    pub(crate) control: u16,
}

impl Mock {
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
        let state_file = layout.root().join(format!("mock/state-{number}.json"));
        let own = [
            format!("--listen={}", at(ports.api)),
            format!("--control={control_at}"),
            format!("--create-latency={}", milliseconds(settings.create_time)),
            format!("--remove-latency={}", milliseconds(settings.remove_time)),
            format!("--removed-latency={}", milliseconds(settings.removed_time)),
        ];
        let state = settings.keeps_state.then(|| format!("--state-file={}", state_file.display()));
        let more = number.checked_sub(1).map_or(&settings.mock, |later| &settings.more_mocks[later]);
        let args: Vec<_> = own.iter().chain(&state).chain(more).map(String::as_str).collect();
        let daemon = daemon::mock(account, number, &args);
        let process = Mutex::new(daemon.start(lead, layout)?);
        let own = Some(OwnProcess { daemon, process, state_file });
        Ok(Self { own, ..Self::at(control_at, ports.api) })
    }

    /// A mock that the testbed has not started.
    pub(crate) fn at(control_at: SocketAddr, port: u16) -> Self {
        Self { control: Mutex::default(), control_at, port, own: None }
    }

    /// Waits until the mock answers.
    pub fn connect(&self, limit: Duration) -> Result<()> {
        let control = wait_for("mock-vipu-server to answer", limit, || {
            if let Some(own) = &self.own {
                ensure!(locked(&own.process).ended()?.is_none(), "mock-vipu-server has ended");
            }
            Ok(Control::connect(self.control_at).ok())
        })?;
        *locked(&self.control) = Some(control);
        Ok(())
    }

    /// Kills the mock and starts it again, with its saved state or, if `forgotten`, without.
    pub(crate) fn restart(&self, lead: &Lead, layout: &Layout, forgotten: bool) -> Result<()> {
        let own = self.own.as_ref().context("it was not started by the testbed")?;
        let mut process = locked(&own.process);
        process.signal(Signal::KILL)?;
        wait_until("the end of mock-vipu-server", RESTART_LIMIT, || Ok(process.ended()?.is_some()))?;
        if forgotten {
            fs::remove_file(&own.state_file)?;
        }
        *process = own.daemon.start(lead, layout)?;
        drop(process);
        self.connect(RESTART_LIMIT)
    }

    fn control<T>(&self, steer: impl FnOnce(&mut Control) -> Result<T>) -> Result<T> {
        let mut control = locked(&self.control);
        steer(control.as_mut().context("mock-vipu-server was never reached")?)
    }

    fn tell(&self, command: &Command) -> Result<()> {
        self.control(|control| control.tell(command))
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn report(&self) -> Result<Report> {
        self.control(Control::report)
    }

    /// The names of the existing partitions, without foreign partitions.
    pub fn partitions(&self) -> Result<Vec<String>> {
        let report = self.report()?;
        let ours = report.present().filter(|record| !record.foreign);
        Ok(ours.map(|record| record.id.clone()).collect())
    }

    /// The record of the latest partition of this name.
    pub fn record(&self, partition: &str) -> Result<PartitionRecord> {
        let record = self.report()?.partition(partition).cloned();
        record.with_context(|| format!("there never was a partition {partition}"))
    }

    /// Waits for a create call for this partition, and returns its record.
    pub fn await_created(&self, partition: &str, limit: Duration) -> Result<PartitionRecord> {
        wait_for(&format!("partition {partition} to be asked for"), limit, || {
            Ok(self.report()?.partition(partition).cloned())
        })
    }

    pub fn await_removed(&self, partition: &str, limit: Duration) -> Result<PartitionRecord> {
        wait_for(&format!("partition {partition} to go"), limit, || {
            Ok(self.report()?.partition(partition).filter(|record| record.removed.is_some()).cloned())
        })
    }

    pub(crate) fn owned_twice(&self) -> Result<Vec<String>> {
        let report = self.report()?;
        let cases = report.ever_double_owned.iter();
        Ok(cases.map(|case| format!("IPU {} by {} and {}", case.ipu, case.first, case.second)).collect())
    }

    /// Injects a fault, which lasts until [`Mock::clear`] if it does not end earlier.
    pub fn inject(&self, fault: Fault) -> Result<()> {
        self.tell(&Command::Inject(fault))
    }

    /// Makes the incident happen once.
    pub fn cause(&self, incident: Incident) -> Result<()> {
        self.tell(&Command::Cause(incident))
    }

    /// Cuts the mock's connections and refuses new ones, as a controller that is down does.
    pub fn refuse(&self) -> Result<()> {
        self.tell(&Command::Refuse)
    }

    /// Makes the mock send noise in place of all replies.
    pub fn garble(&self) -> Result<()> {
        self.tell(&Command::Garble)
    }

    /// Ends all faults: sends the held replies, and accepts connections again.
    pub fn clear(&self) -> Result<()> {
        self.tell(&Command::Clear)
    }

    pub(crate) fn into_process(self) -> Option<Leashed> {
        self.own.map(|own| own.process.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}
