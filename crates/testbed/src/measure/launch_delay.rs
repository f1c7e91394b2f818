//! How long a job waits when its partition is there already: from ACTIVE to its first command.
//!
//! Stock Slurm makes partitions in PrologSlurmctld; there that time begins when the script ends, which does nothing but
//! sleep for as long as a create takes.

use std::{fs, path::PathBuf, thread, time::Duration};

use anyhow::{Context, Error, Result, bail};
use tempfile::TempDir;

use crate::{Cluster, JobId, cluster::folder_layout::permit, main_job, say};

/// Longer than anything takes beside the create.
const LIMIT: Duration = Duration::from_secs(60);

/// Who makes partitions, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// Stock Slurm, in PrologSlurmctld.
    Stock,
    /// The plugin, for a job that has its nodes: `Prepare=no`.
    Configuring,
    /// The plugin, for a job that waits: `Prepare=all`.
    Prepared,
}

impl Setup {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Stock, Self::Configuring, Self::Prepared];

    /// In the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stock => "PrologSlurmctld",
            Self::Configuring => "Prepare=no",
            Self::Prepared => "Prepare=all",
        }
    }
}

/// How a job is submitted.
pub const COMMANDS: [&str; 3] = ["sbatch", "srun", "salloc"];

/// The most jobs of each: a job is found by a name that has its size.
pub const MOST_RUNS: u32 = 7;

/// The delays of jobs of each of [`COMMANDS`], in each of [`Setup::ALL`].
pub type Delays = [[Vec<Duration>; COMMANDS.len()]; Setup::ALL.len()];

/// Measures so many jobs of each kind, with creates that take this long. The three setups are measured side by side: most of the time they sleep.
///
/// # Errors
/// When a cluster does not do what it should.
pub fn measure(create: Duration, runs: u32) -> Result<Delays> {
    let [stock, configuring, prepared] = thread::scope(|scope| {
        let measured = Setup::ALL.map(|setup| scope.spawn(move || one_setup(setup, create, runs)));
        measured.map(|one| one.join().unwrap_or_else(|_| bail!("a cluster's thread panicked")))
    });
    Ok([stock?, configuring?, prepared?])
}

fn one_setup(setup: Setup, create: Duration, runs: u32) -> Result<[Vec<Duration>; COMMANDS.len()]> {
    let prolog = Prolog::new(create)?;
    // So that no job is forgotten before it is accounted for, however long creates take.
    let settings = Cluster::settings().nodes(1).create_time(create).slurm_conf("MinJobAge=60000");
    let settings = match setup {
        Setup::Stock => settings.without_plugin().slurm_conf(&prolog.line()),
        Setup::Configuring => settings.vipu_conf("Prepare=no"),
        Setup::Prepared => settings.vipu_conf("Prepare=all"),
    };
    settings.run(|cluster| {
        let mut delays = COMMANDS.map(|_| Vec::new());
        for run in 0..runs.min(MOST_RUNS) {
            for (by, delays) in COMMANDS.iter().zip(&mut delays) {
                let delay = match setup {
                    Setup::Stock => behind_prolog(cluster, by, run, create, &prolog)?,
                    Setup::Configuring | Setup::Prepared => behind_partition(cluster, by, run, create)?,
                };
                say(format!("{}, {by}, create {create:?}: {delay:?}", setup.name()));
                delays.push(delay);
            }
        }
        Ok(delays)
    })
}

fn behind_partition(cluster: &Cluster, by: &str, run: u32, create: Duration) -> Result<Duration> {
    let ipus = 1 << run;
    let ran = match by {
        "srun" => main_job::srun(cluster, ipus)?,
        "salloc" => main_job::salloc(cluster, ipus)?,
        _ => {
            let job = cluster.sbatch(main_job::SHOW, &[&format!("--gres=vipu:pod64:{ipus}")])?;
            cluster.await_end(job, create + LIMIT)?;
            main_job::check_run(cluster, job, "sbatch", ipus, &cluster.job_output(job))?
        }
    };
    Ok(ran.ready_to_start)
}

fn behind_prolog(
    cluster: &Cluster,
    by: &str,
    run: u32,
    create: Duration,
    prolog: &Prolog,
) -> Result<Duration> {
    const SHOW: &str = "date +%s%N";
    let limit = create + LIMIT;
    let (job, output) = if by == "sbatch" {
        let job = cluster.sbatch(SHOW, &[])?;
        cluster.await_end(job, limit)?;
        (job, cluster.job_output(job))
    } else {
        let name = format!("{by}-{run}");
        let command = cluster.command(by).args(&[&format!("--job-name={name}")]);
        let inner: &[&str] = if by == "salloc" { &["srun"] } else { &[] };
        let running = command.args(inner).args(&["bash", "-c", SHOW]).start()?;
        let job = cluster.await_job_named(&name, LIMIT)?;
        (job, running.success(limit)?.stdout)
    };
    cluster.await_end(job, LIMIT)?;
    let started: u64 = output.trim().parse().with_context(|| format!("job {job} ({by}) printed {output}"))?;
    Ok(Duration::from_nanos(started.saturating_sub(prolog.ended(job)?)))
}

/// A PrologSlurmctld that sleeps, and notes when it has.
struct Prolog(TempDir);

impl Prolog {
    fn new(create: Duration) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        permit(dir.path(), 0o777)?;
        let prolog = Self(dir);
        let seconds = create.as_secs_f64();
        let note = prolog.note("$SLURM_JOB_ID");
        fs::write(prolog.script(), format!("#!/bin/sh\nsleep {seconds}\ndate +%s%N > {note}\n"))?;
        permit(&prolog.script(), 0o755)?;
        Ok(prolog)
    }

    fn script(&self) -> PathBuf {
        self.0.path().join("prolog")
    }

    fn note(&self, job: &str) -> String {
        format!("{}/{job}", self.0.path().display())
    }

    fn line(&self) -> String {
        format!("PrologSlurmctld={}", self.script().display())
    }

    /// When it ended for this job, in nanoseconds since the Unix epoch.
    fn ended(&self, job: JobId) -> Result<u64> {
        let note = self.note(&job.to_string());
        let text = fs::read_to_string(&note).map_err(Error::from).context("the prolog has noted nothing")?;
        Ok(text.trim().parse()?)
    }
}
