//! What is done to the cluster's slurmctld.

use std::{fs, time::Duration};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use crate::{Cluster, cluster::held, conf_files, daemon, process::Process, wait_until};

/// How long slurmctld may take to end: it saves its state first.
const END_LIMIT: Duration = Duration::from_secs(60);

impl Cluster {
    /// slurmctld's process.
    ///
    /// # Errors
    /// When it is not running.
    pub fn slurmctld(&self) -> Result<Process> {
        let mut slurmctld = held(&self.slurmctld);
        let leashed = slurmctld.as_mut().context("slurmctld was stopped")?;
        leashed.process()?.context("slurmctld has ended")
    }

    /// Ends slurmctld as an administrator does.
    ///
    /// # Errors
    /// When it does not end.
    pub fn stop_slurmctld(&self) -> Result<()> {
        self.end_slurmctld(Signal::TERM)
    }

    /// Ends slurmctld as a power cut does.
    ///
    /// # Errors
    /// When it does not end.
    pub fn kill_slurmctld(&self) -> Result<()> {
        self.end_slurmctld(Signal::KILL)
    }

    fn end_slurmctld(&self, signal: Signal) -> Result<()> {
        let Some(mut leashed) = held(&self.slurmctld).take() else { bail!("slurmctld is not running") };
        leashed.signal(signal)?;
        wait_until("the end of slurmctld", END_LIMIT, || Ok(leashed.ended()?.is_some()))
    }

    /// Starts slurmctld again after it was ended, and waits until it answers.
    ///
    /// # Errors
    /// When it does not.
    pub fn start_slurmctld(&self) -> Result<()> {
        let leashed = daemon::slurmctld(&self.slurm).start(&self.lead, &self.layout)?;
        *held(&self.slurmctld) = Some(leashed);
        wait_until("slurmctld to answer", END_LIMIT, || {
            self.slurmctld()?;
            Ok(self.command("scontrol").args(&["ping"]).output()?.stdout.contains("UP"))
        })
    }

    /// Makes slurmctld read its configuration again.
    ///
    /// # Errors
    /// When it refuses.
    pub fn reconfigure(&self) -> Result<()> {
        self.scontrol(&["reconfigure"]).map(drop)
    }

    /// Writes a vipu.conf that works, with `lines` after the keys every one needs.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_vipu_conf(&self, lines: &[&str]) -> Result<()> {
        let lines: Vec<_> = lines.iter().map(|&line| line.to_owned()).collect();
        let text = conf_files::vipu_conf(&self.layout, self.at, &lines);
        self.write_vipu_conf_text(&text)
    }

    /// Writes `text` as the whole vipu.conf.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_vipu_conf_text(&self, text: &str) -> Result<()> {
        Ok(fs::write(self.layout.conf("vipu.conf"), text)?)
    }
}
