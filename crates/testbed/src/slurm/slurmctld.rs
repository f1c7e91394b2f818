//! Stopping, killing, starting and reconfiguring the cluster's slurmctld.

use std::{fs, time::Duration};

use anyhow::{Context, Result};
use rustix::process::Signal;

use crate::{
    Cluster, Hosts, cluster::daemon, cluster::locked, conf_files, process::Process, slurm::next_number,
    wait_until,
};

/// The longest time until slurmctld ends: it saves its state first.
const END_LIMIT: Duration = Duration::from_secs(60);

const START_LIMIT: Duration = Duration::from_secs(60);

/// The longest time until slurmctld saves its state: it waits for five seconds on purpose.
const SAVE_LIMIT: Duration = Duration::from_secs(30);

impl<H: Hosts> Cluster<H> {
    /// Waits until slurmctld has saved all changes before this call. It saves some seconds after a change.
    pub fn await_saved(&self) -> Result<()> {
        // All jobs are saved together, so the last submitted job stands for the others.
        let mark = format!("mark-{}", next_number());
        let job = self.sbatch("true", &["--hold", &format!("--job-name={mark}")])?;
        wait_until("slurmctld to save its jobs", SAVE_LIMIT, || self.hosts.has_saved(&mark))?;
        self.command("scancel").args(&[&job.to_string()]).success().map(drop)
    }

    fn await_answer(&self) -> Result<()> {
        wait_until("slurmctld to answer", START_LIMIT, || {
            self.hosts.slurmctld_lives()?;
            Ok(self.command("scontrol").args(&["ping"]).output()?.stdout.contains("UP"))
        })
    }

    /// Waits until slurmctld answers after a start, and has heard of its nodes.
    pub fn await_slurmctld(&self) -> Result<()> {
        self.await_answer()?;
        wait_until("the nodes to answer slurmctld", START_LIMIT, || {
            Ok(!self.scontrol(&["show", "node"])?.contains("SlurmdStartTime=None"))
        })
    }

    pub fn reconfigure(&self) -> Result<()> {
        self.scontrol(&["reconfigure"]).map(drop)
    }
}

impl Cluster {
    pub fn slurmctld(&self) -> Result<Process> {
        self.hosts.slurmctld()
    }

    pub fn stop_slurmctld(&self) -> Result<()> {
        self.end_slurmctld(Signal::TERM)
    }

    pub fn kill_slurmctld(&self) -> Result<()> {
        self.end_slurmctld(Signal::KILL)
    }

    fn end_slurmctld(&self, signal: Signal) -> Result<()> {
        locked(&self.hosts.slurmctld).as_mut().context("slurmctld is not running")?.signal(signal)?;
        self.await_slurmctld_gone()
    }

    /// Has slurmctld end in order, and returns when it begins to.
    pub fn begin_stop_of_slurmctld(&self) -> Result<()> {
        let seen = self.slurmctld_log().len();
        self.slurmctld()?.signal(Signal::TERM)?;
        wait_until("slurmctld to begin its end", END_LIMIT, || {
            Ok(self.slurmctld_log().get(seen..).is_some_and(|log| log.contains("Terminate signal")))
        })
    }

    /// Waits for the end of a slurmctld that was told to end.
    pub fn await_slurmctld_gone(&self) -> Result<()> {
        let mut leashed = locked(&self.hosts.slurmctld).take().context("slurmctld is not running")?;
        wait_until("the end of slurmctld", END_LIMIT, || Ok(leashed.ended()?.is_some()))
    }

    /// Deletes slurmctld's saved state, but not the plugin's journal. slurmctld then knows no job and counts
    /// jobs from one again. Call this while slurmctld is not running.
    pub fn lose_state(&self) -> Result<()> {
        locked(&self.submitted).clear();
        for entry in fs::read_dir(self.hosts.layout.state())? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false if entry.file_name() == "vipu_journal" => {}
                false => fs::remove_file(entry.path())?,
            }
        }
        Ok(())
    }

    /// Starts slurmctld again, and waits until it answers and has heard of its nodes. A job that is submitted
    /// before then may wait for a minute.
    pub fn start_slurmctld(&self) -> Result<()> {
        self.start_slurmctld_with(&[])
    }

    /// Starts slurmctld again, and waits until it answers. Its nodes may be silent.
    pub fn start_slurmctld_without_nodes(&self) -> Result<()> {
        self.launch_slurmctld(&[])?;
        self.await_answer()
    }

    /// Does [`Cluster::start_slurmctld`] without saved state (`slurmctld -c`). No job is known any more.
    pub fn start_slurmctld_anew(&self) -> Result<()> {
        locked(&self.submitted).clear();
        self.start_slurmctld_with(&["-c"])
    }

    fn start_slurmctld_with(&self, options: &[&str]) -> Result<()> {
        self.launch_slurmctld(options)?;
        self.await_slurmctld()
    }

    pub(crate) fn launch_slurmctld(&self, options: &[&str]) -> Result<()> {
        let daemon = daemon::slurmctld(&self.hosts.slurm, &self.hosts.settings, options);
        let leashed = daemon.start(&self.hosts.lead, &self.hosts.layout)?;
        *locked(&self.hosts.slurmctld) = Some(leashed);
        Ok(())
    }

    pub fn slurmctld_port(&self) -> u16 {
        self.hosts.at.slurmctld
    }

    pub fn api_host(&self, numbers: &[usize]) -> String {
        self.hosts.at.api_host(numbers)
    }

    /// Writes a working vipu.conf, with `lines` after the required keys.
    pub fn write_vipu_conf(&self, lines: &[&str]) -> Result<()> {
        let lines: Vec<_> = lines.iter().map(|&line| line.to_owned()).collect();
        let text = conf_files::vipu_conf(
            &self.hosts.layout,
            self.hosts.settings.delivery,
            &self.hosts.at,
            &self.hosts.settings.listed,
            &lines,
        );
        self.write_vipu_conf_text(&text)
    }

    pub fn write_vipu_conf_text(&self, text: &str) -> Result<()> {
        Ok(fs::write(self.hosts.layout.conf("vipu.conf"), text)?)
    }
}
