//! A cluster's daemons on this machine, in a folder of their own.

use std::{fs, sync::Mutex};

use anyhow::{Context, Result};

use super::{
    Account, Hosts, Layout, RunsCommands, accounting::Accounting, daemon::environment,
    folder_layout::write_program, locked, logs::Verdict, ports::Ports,
};
use crate::{
    ClusterCommand, Mock, Running, Settings,
    conf_files::{Addresses, BACKUP, SLURM_CONF, node_name},
    process::{Lead, Leashed, Process, Start},
    programs,
};

/// munge, slurmctld, slurmd and mock controllers of one cluster. No process is left after the test, however
/// it ends.
#[derive(Debug)]
pub struct OneHost {
    // Fields drop in this order: the verdict reads the logs first, then the daemons go, the folder last.
    pub(crate) verdict: Verdict,
    pub(crate) slurmctld: Mutex<Option<Leashed>>,
    pub(crate) backup: Mutex<Option<Leashed>>,
    /// By the node's index. `None` while the slurmd is stopped.
    pub(crate) slurmd: Mutex<Vec<Option<Leashed>>>,
    pub(crate) mocks: Vec<Mock>,
    pub(crate) munged: Leashed,
    /// slurmdbd and its database, if the cluster has accounting.
    pub(crate) accounting: Mutex<Option<Accounting>>,
    pub(crate) disk: Option<Leashed>,
    pub(crate) lead: Lead,
    pub(crate) at: Addresses,
    pub(crate) _ports: Ports,
    pub(crate) slurm: Account,
    pub(crate) root: Account,
    pub(crate) settings: Settings,
    pub(crate) layout: Layout,
}

impl OneHost {
    pub(crate) fn slurmctld(&self) -> Result<Process> {
        let mut slurmctld = locked(&self.slurmctld);
        let leashed = slurmctld.as_mut().context("slurmctld was stopped")?;
        leashed.process()?.context("slurmctld has ended")
    }
}

impl RunsCommands for OneHost {
    fn start(&self, command: &ClusterCommand<'_>) -> Result<Running> {
        let mut environment = environment(&self.layout, &command.account, SLURM_CONF);
        environment.extend_from_slice(&command.environment);
        let start = Start {
            program: &programs::find(&command.program)?,
            args: &command.args,
            account: &command.account,
            hostname: None,
            disk: None,
            environment: &environment,
            directory: &self.layout.jobs(),
        };
        Running::start(&self.lead, &self.layout.root().join("commands"), &start)
    }
}

impl Hosts for OneHost {
    fn command(&self, program: &str) -> ClusterCommand<'_> {
        ClusterCommand::new(self, program, self.root.clone())
    }

    fn write_script(&self, name: &str, text: &str) -> Result<String> {
        let path = self.layout.jobs().join(name);
        write_program(&path, text)?;
        Ok(path.display().to_string())
    }

    fn job_file(&self, name: &str) -> String {
        fs::read_to_string(self.layout.jobs().join(name)).unwrap_or_default()
    }

    fn ipuof_names(&self) -> Result<Vec<String>> {
        let steps = self.layout.steps();
        let steps = if steps.is_dir() { Some(fs::read_dir(steps)?) } else { None };
        let entries = fs::read_dir(self.layout.ipuof())?.chain(steps.into_iter().flatten());
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn has_saved(&self, text: &str) -> Result<bool> {
        // There is no file for a moment, because Slurm unlinks the old one before it links the new one.
        let saved = fs::read(self.layout.state().join("job_state")).unwrap_or_default();
        Ok(saved.windows(text.len()).any(|part| part == text.as_bytes()))
    }

    fn slurmctld_lives(&self) -> Result<()> {
        self.slurmctld().map(drop)
    }

    fn slurmctld_logs(&self) -> Result<String> {
        let logs = &self.verdict.logs;
        Ok(logs.read("slurmctld") + &logs.read(BACKUP))
    }

    fn nodes(&self) -> Vec<String> {
        (0..self.settings.nodes).map(node_name).collect()
    }

    fn log_of_node(&self, node: &str) -> Result<String> {
        Ok(self.verdict.logs.read(node))
    }

    fn mocks(&self) -> &[Mock] {
        &self.mocks
    }
}
