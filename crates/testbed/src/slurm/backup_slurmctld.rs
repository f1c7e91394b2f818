//! The backup slurmctld.

use std::time::Duration;

use anyhow::{Context, Result};

use rustix::process::Signal;
use slurm_release::Series;

use crate::{
    Cluster,
    cluster::{daemon, locked},
    conf_files::CONTROLLERS,
    process::Process,
    programs, wait_until,
};

/// The longest time until the backup answers, and until it has taken over. It waits for ten seconds on
/// purpose.
const LIMIT: Duration = Duration::from_secs(60);

impl Cluster {
    pub fn backup(&self) -> Result<Process> {
        let mut backup = locked(&self.hosts.backup);
        let leashed = backup.as_mut().context("no backup waits")?;
        leashed.process()?.context("the backup has ended")
    }

    /// Waits until the backup, if the settings have one, is ready to take over.
    pub(crate) fn await_backup(&self) -> Result<()> {
        if !self.hosts.settings.backup {
            return Ok(());
        }
        let ready = format!("(backup) at {} is UP", CONTROLLERS[1]);
        wait_until("the backup to answer", LIMIT, || {
            self.backup()?;
            Ok(self.command("scontrol").args(&["ping"]).output()?.stdout.contains(&ready))
        })
    }

    /// Has the backup take over at a request. The first slurmctld then ends.
    pub fn take_over(&self) -> Result<()> {
        let mut first = locked(&self.hosts.slurmctld).take().context("slurmctld is not running")?;
        self.scontrol(&["takeover"])?;
        wait_until("the first slurmctld to end", LIMIT, || Ok(first.ended()?.is_some()))?;
        self.await_takeover()
    }

    /// Waits until the backup has taken over from a slurmctld that was ended. The backup is the cluster's
    /// slurmctld from then on.
    pub fn await_takeover(&self) -> Result<()> {
        *locked(&self.hosts.slurmctld) = Some(locked(&self.hosts.backup).take().context("no backup waits")?);
        wait_until("the backup to take over", LIMIT, || {
            self.slurmctld()?;
            // Slurm's own ping shows a waiting backup as UP, too.
            Ok(self.command("sinfo").output()?.code == 0)
        })
    }

    /// Starts the first slurmctld again after a takeover, and waits until it has control and the backup
    /// waits.
    ///
    /// From 24.11 on, a backup that is asked for control answers after 29 s, and saves its state while the first slurmctld
    /// reads it: Slurm can lose jobs (`_slurm_rpc_request_control`, seen with stock 26.05.5). The backup is stopped there
    /// first, as docs/recovery.md says.
    pub fn return_control(&self) -> Result<()> {
        let mut backup = locked(&self.hosts.slurmctld).take().context("slurmctld is not running")?;
        let stops = programs::slurm_version()?.series() >= Series::new(24, 11);
        if stops {
            backup.signal(Signal::TERM)?;
            wait_until("the backup to end", LIMIT, || Ok(backup.ended()?.is_some()))?;
        }
        *locked(&self.hosts.backup) = Some(backup);
        self.launch_slurmctld(&[])?;
        wait_until("the first slurmctld to have control", LIMIT, || {
            self.slurmctld()?;
            // Neither slurmctld answers while control is handed over.
            let nodes = self.command("scontrol").args(&["show", "node"]).output()?;
            Ok(nodes.code == 0 && !nodes.stdout.contains("SlurmdStartTime=None"))
        })?;
        if stops {
            let backup = daemon::backup(&self.hosts.slurm).start(&self.hosts.lead, &self.hosts.layout)?;
            *locked(&self.hosts.backup) = Some(backup);
        }
        self.await_backup()
    }
}
