//! The messages of srun and salloc while their users wait.

use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use testbed::wait_until;

use crate::jobs::leaving_unanswered;
use crate::{LIMIT, let_go, quick, slow, stay};

#[test]
fn user_at_a_terminal_hears_of_the_partition() -> Result<()> {
    slow(6).run(|cluster| {
        // The duration of the first create is not known beforehand. The second create is not late.
        for (by, lines) in [("srun", 2), ("salloc", 1)] {
            let running = cluster.command(by).args(&["--ipus=16", "true"]).start()?;
            let output = running.success(Duration::from_secs(60))?;
            let said = output.stderr.lines().filter(|line| line.contains("vipu: creating partition slurm_"));
            let said: Vec<_> = said.collect();
            ensure!(said.len() == lines && said[0].ends_with(": 16 IPUs on pod64"), "{by}: {output:?}");
            ensure!(said[1..].iter().all(|line| line.ends_with(" on pod64, 5 s")), "{by}: {output:?}");
        }
        Ok(())
    })
}

/// The request of a job at a terminal for more IPUs than are free.
const WHOLE_POD: &str = "--ipus=64";

#[test]
fn user_at_a_terminal_hears_why_a_job_waits() -> Result<()> {
    let settings = quick().slurm_conf("SchedulerParameters=bf_interval=1,sched_interval=1");
    leaving_unanswered(settings).run(|cluster| {
        let holder = stay(cluster, 64)?;
        for by in ["srun", "salloc"] {
            let output = cluster.command(by).args(&["--immediate", WHOLE_POD, "true"]).output()?;
            let told = "vipu: 64 IPUs of pod64 needed, 0 free, largest block 0";
            ensure!(output.code != 0 && output.stderr.contains(told), "{by}: {output:?}");
            let mut waiting = cluster.command(by).args(&[WHOLE_POD, "true"]).start()?;
            let why = " waits: 64 IPUs of pod64 needed, 0 free, largest block 0";
            wait_until("the reason at the terminal", LIMIT, || Ok(waiting.stderr()?.contains(why)))?;
            ensure!(waiting.runs()?, "{}", waiting.stderr()?);
            ensure!(waiting.stderr()?.matches(" waits: ").count() == 1, "{}", waiting.stderr()?);
            waiting.signal(Signal::TERM)?;
            waiting.output(LIMIT)?;
        }
        let_go(cluster)?;
        cluster.await_end(holder, LIMIT).map(drop)
    })
}
