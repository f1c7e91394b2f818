//! The training of docs/users.md: it saves before its time limit and at a preemption, and goes on in the next run.

use std::fs;

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId, wait_until};

use super::{Example, install, site};
use crate::LIMIT;
use crate::jobs::{begin_again, cancel, ended, update, waits_again};

const PAGE: &str = include_str!("../../../../docs/users.md");

/// Saves when it is told to, and ends with the exit code that a file has. With a saved state, it goes on to its end.
/// While the file `slow` is there, it goes on saving, and only notes that it got TERM.
const TRAIN: &str = r#"#!/bin/bash
[ "$*" = train.py ] && [ -r "$IPUOF_CONFIG_PATH" ] || exit 3
trap 'touch saved; while [ -e slow ]; do sleep 0.1; done; exit "$(cat code)"' USR1
trap 'if [ -e slow ]; then touch told; else touch saved; exit "$(cat code)"; fi' TERM
[ ! -e saved ] || { touch went-on; exit 0; }
touch started
while :; do sleep 0.1; done
"#;

/// Plays the example, lets `stop` end its first run, and checks both runs. `code` is the exit code of a training
/// that has saved.
fn saves_and_goes_on(
    cluster: &Cluster,
    example: &Example,
    job: JobId,
    code: u8,
    stop: fn(&Cluster, JobId) -> Result<()>,
) -> Result<()> {
    let file = |name: &str| cluster.layout().jobs().join(name);
    fs::write(file("code"), code.to_string())?;
    example.play(cluster)?;
    wait_until("the training to start", LIMIT, || Ok(file("started").exists()))?;
    stop(cluster, job)?;
    waits_again(cluster, job, 1)?;
    ensure!(file("saved").exists(), "job {job} was requeued and had not saved");
    update(cluster, job, &["TimeLimit=60"])?;
    begin_again(cluster, job)?;
    let ended = ended(cluster, job, "COMPLETED")?;
    ensure!(ended.restarts == 1 && file("went-on").exists(), "{ended:?}");
    for name in ["started", "saved", "went-on"] {
        fs::remove_file(file(name))?;
    }
    Ok(())
}

/// Cancels a job that saves at its time limit. Its script must not requeue it.
fn stays_cancelled(cluster: &Cluster, example: &Example, job: JobId) -> Result<()> {
    let file = |name: &str| cluster.layout().jobs().join(name);
    fs::write(file("slow"), "")?;
    example.play(cluster)?;
    wait_until("the training to start", LIMIT, || Ok(file("started").exists()))?;
    time_limit(cluster, job)?;
    wait_until("the training to save", LIMIT, || Ok(file("saved").exists()))?;
    cancel(cluster, job)?;
    wait_until("the training to hear of it", LIMIT, || Ok(file("told").exists()))?;
    fs::remove_file(file("slow"))?;
    let ended = ended(cluster, job, "CANCELLED")?;
    ensure!(ended.restarts == 0, "{ended:?}");
    for name in ["started", "saved"] {
        fs::remove_file(file(name))?;
    }
    Ok(())
}

/// The signal is due at once. Slurm sends it within half a minute.
fn time_limit(cluster: &Cluster, job: JobId) -> Result<()> {
    update(cluster, job, &["TimeLimit=5"])
}

/// Ends a run with the signals of a preemption with `PreemptMode=REQUEUE`.
fn requeue(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.scontrol(&["requeue", &job.to_string()]).map(drop)
}

#[test]
fn user_training_of_the_page_saves_and_goes_on() -> Result<()> {
    site().slurm_conf("FirstJobId=42").run(|cluster| {
        install(cluster, &[("python3", TRAIN)])?;
        let heading = "Save at the time limit and go on";
        let mut example =
            Example::all(PAGE)?.into_iter().find(|example| example.heading == heading).context(heading)?;
        saves_and_goes_on(cluster, &example, JobId(42), 0, time_limit)?;
        saves_and_goes_on(cluster, &example, JobId(43), 0, requeue)?;
        stays_cancelled(cluster, &example, JobId(44))?;
        let by_exit_code = "sbatch --ipu-requeue-on=42 long.sh";
        ensure!(PAGE.contains(by_exit_code), "the page says nothing of {by_exit_code}");
        example.typed = vec![by_exit_code];
        saves_and_goes_on(cluster, &example, JobId(45), 42, time_limit)
    })
}
