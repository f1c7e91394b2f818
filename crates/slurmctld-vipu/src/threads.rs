//! The start of the plugin's threads.

use std::path::{Path, PathBuf};
use std::sync::Weak;

use driver::Orders;
use ledger::Seconds;
use tracing::error;
use vipu_types::Words;

use crate::audit_thread::{self, AuditLines};
use crate::plugin::{Ends, Plugin};
use crate::reporting_controller::ReportingController;
use crate::start_line::Surroundings;
use crate::{host_thread, io_thread, saved_conf, status_thread};

/// The driver's end of its queue, and the plugin that owns it.
pub(crate) struct DriverEnds {
    plugin: Weak<Plugin>,
    orders: Orders<ReportingController>,
    audit_lines: AuditLines,
}

impl Ends {
    /// Starts vipu-host and vipu-conf, before a gate of an earlier slurmctld's job is raised for vipu-host to
    /// open.
    pub(crate) fn start_host(self) -> Result<DriverEnds, Words> {
        let Self { plugin, tasks, orders, texts, audit_lines } = self;
        host_thread::start(tasks, plugin.clone())?;
        if let Err(why) = saved_conf::start(texts) {
            error!("{why}: a later slurmctld will not know the settings that are in force now");
        }
        Ok(DriverEnds { plugin, orders, audit_lines })
    }
}

impl DriverEnds {
    /// Starts vipu-io, vipu-status and vipu-audit, after the jobs of an earlier slurmctld were taken over. Otherwise their partitions
    /// would look like orphans. Without a journal it makes and removes no partition. `saved` is the time at which
    /// the earlier slurmctld last saved its jobs.
    pub(crate) fn start_driver(
        self,
        journal: Option<PathBuf>,
        saved: Option<Seconds>,
        around: Surroundings,
    ) -> Result<(), Words> {
        if let Some(state) = journal.as_deref().and_then(Path::parent) {
            if let Err(why) = status_thread::start(self.plugin.clone(), state, around.cluster.clone()) {
                error!("{why}: svipu has no status until slurmctld is restarted");
            }
            let plugin = self.plugin.clone();
            let to_syslog =
                move || plugin.upgrade().is_some_and(|it| it.frontend.models().audits_to_syslog());
            if let Err(why) = audit_thread::start(self.audit_lines, to_syslog, state) {
                error!("{why}: nothing is in the audit log until slurmctld is restarted");
            }
        }
        io_thread::start(self.orders, journal, saved, around, self.plugin)
    }
}
