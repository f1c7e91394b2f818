//! The time from a ready partition to the first command of a job that is alone, beside a stock Slurm whose
//! PrologSlurmctld sleeps for as long as the create.

use std::{fs, time::Duration};

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId};

use crate::{
    Extent, Row, Target,
    prolog::Prolog,
    sides::{Side, alternate, settings, with_both},
};

/// Prints the time of the first command, the job, and the partition if there is one.
const SCRIPT: &str = "t=$(date +%s%N)\necho $t $SLURM_JOB_ID $SLURM_VIPU_PARTITION";

/// The longest time for a job on an idle cluster.
const LIMIT: Duration = Duration::from_secs(120);

/// The rows: name, text, target, command, and number of pairs.
const ROWS: [(&str, &str, Target, By, usize); 3] = [
    ("batch", "ready to first command, sbatch", Target::AtMost(1.10), By::Sbatch, 30),
    ("srun", "ready to first command, srun", Target::None, By::Srun, 12),
    ("salloc", "ready to first command, salloc srun", Target::None, By::Salloc, 12),
];

pub(crate) fn measure(extent: Extent) -> Result<Vec<Row>> {
    let create: Duration = extent.of(Duration::from_secs(2), Duration::from_millis(300));
    let prolog = Prolog::new(|folder| {
        format!("sleep {}\ndate +%s%N > {}/$SLURM_JOB_ID", create.as_secs_f64(), folder.display())
    })?;
    let settings = |side| {
        let settings = settings(side).nodes(1).create_time(create);
        if side.has_plugins() { settings } else { prolog.added_to(settings) }
    };
    let rows = &ROWS[..extent.of(ROWS.len(), 1)];
    with_both(settings, |both| {
        let row = |&(name, what, target, by, number)| {
            let launch = |side| launch(both.cluster(side), side, by, &prolog);
            // The first job of a cluster finds nothing in the machine's caches.
            alternate(1, launch)?;
            let measured = alternate(extent.pairs(number), launch)?;
            anyhow::Ok(Row::ratio((name, what, "ms"), target, &measured, |time| 1e3 * time.as_secs_f64()))
        };
        rows.iter().map(row).collect()
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Sbatch,
    Srun,
    Salloc,
}

/// The time from a ready partition, or the end of PrologSlurmctld, to the job's first command.
fn launch(cluster: &Cluster, side: Side, by: By, prolog: &Prolog) -> Result<Duration> {
    let gres = "--gres=vipu:pod64:16";
    let shown = match by {
        By::Sbatch => {
            let job = cluster.sbatch(SCRIPT, &[gres])?;
            cluster.await_end(job, LIMIT)?;
            cluster.job_output(job)
        }
        By::Srun => {
            cluster.command("srun").args(&[gres, "bash", "-c", SCRIPT]).start()?.success(LIMIT)?.stdout
        }
        By::Salloc => {
            let salloc = cluster.command("salloc").args(&[gres, "srun", "bash", "-c", SCRIPT]);
            salloc.start()?.success(LIMIT)?.stdout
        }
    };
    let words: Vec<_> = shown.split_whitespace().collect();
    let [started, job, ..] = words[..] else { anyhow::bail!("{by:?} printed '{shown}'") };
    let (started, job): (u64, JobId) = (started.parse()?, job.parse()?);
    cluster.await_end(job, LIMIT)?;
    let ready = match side.has_plugins() {
        false => {
            let note = fs::read_to_string(prolog.note(&job.to_string()));
            note.with_context(|| format!("job {job} had no PrologSlurmctld"))?.trim().parse()?
        }
        true => {
            let partition = words.get(2).with_context(|| format!("job {job} has no partition"))?;
            let record = cluster.mock().await_removed(partition, LIMIT)?;
            record.active.with_context(|| format!("{partition} was never ACTIVE"))?.0
        }
    };
    ensure!(started >= ready, "job {job} started before it was ready");
    Ok(Duration::from_nanos(started - ready))
}
