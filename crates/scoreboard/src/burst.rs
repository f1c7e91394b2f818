//! The last launch of 64 jobs that become ready together.
//!
//! On the stock side, the PrologSlurmctld of each job waits at one gate. On our side, the mock holds the reply to each
//! create. Both clocks start right before all are released, when each job has its nodes and waits for nothing else.

use std::{
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{Cluster, wait_until};
use vipu_client::Call;

use crate::{
    Extent, Row, Target,
    gate::Gate,
    jobs_per_second::first_and_last_start,
    prolog::Prolog,
    sides::{Side, alternate, settings, with_both},
};

const LIMIT: Duration = Duration::from_secs(120);

/// The note of PrologSlurmctld with a line for each job that waits.
const WAITING: &str = "waiting";

pub(crate) fn measure(extent: Extent) -> Result<Vec<Row>> {
    let start = Gate::new()?;
    let prolog =
        Prolog::new(|folder| format!("echo >> {}\n{}", folder.join(WAITING).display(), start.wait()))?;
    let burst = Burst { jobs: extent.of(64, 4), start, end: Gate::new()?, prolog };
    let settings = |side| {
        let settings = settings(side).nodes(1).cpus(64).create_time(Duration::from_millis(100));
        if side.has_plugins() { settings } else { burst.prolog.added_to(settings) }
    };
    with_both(settings, |both| {
        let mut round = 0;
        let measured = alternate(extent.pairs(12), |side| {
            round += 1;
            burst.last_launch(both.cluster(side), side, round)
        })?;
        let row = ("burst", "last launch of 64 jobs that become ready together", "ms");
        Ok(vec![Row::ratio(row, Target::AtMost(1.15), &measured, |time| 1e3 * time.as_secs_f64())])
    })
}

struct Burst {
    jobs: usize,
    /// The gate of each PrologSlurmctld.
    start: Gate,
    /// The gate of each job: no job ends while others start, because ends take time of slurmctld, too.
    end: Gate,
    prolog: Prolog,
}

impl Burst {
    /// The time from the release of all jobs to the first command of the last one.
    fn last_launch(&self, cluster: &Cluster, side: Side, round: u32) -> Result<Duration> {
        let starts = format!("starts-{round}");
        let script = format!("date +%s%N >> {starts}\n{}", self.end.wait());
        let array = format!("--array=1-{}", self.jobs);
        if side.has_plugins() {
            cluster.mock().inject(Fault::new(Effect::HeldReply { rpc: Some(Rpc(Call::CreatePartition)) }))?;
        }
        cluster.sbatch(&script, &[&array, "--output=/dev/null", "--gres=vipu:pod64:1"])?;
        self.await_all_waiting(cluster, side)?;
        let released = now()?;
        let open = match side.has_plugins() {
            true => cluster.mock().clear().map(|()| None)?,
            false => Some(self.start.open()?),
        };
        let (first, last) = first_and_last_start(cluster, &starts, self.jobs, LIMIT)?;
        ensure!(first >= released, "a job started before it was ready");
        drop(open);
        self.end_all(cluster)?;
        Ok(Duration::from_nanos(last - released))
    }

    /// Waits until all jobs have their nodes, and wait for nothing but their release.
    fn await_all_waiting(&self, cluster: &Cluster, side: Side) -> Result<()> {
        self.await_jobs(cluster, "CF", self.jobs)?;
        let waiting = || match side.has_plugins() {
            true => {
                let report = cluster.mock().report()?;
                anyhow::Ok(report.present().filter(|record| record.active.is_some()).count())
            }
            false => Ok(fs::read_to_string(self.prolog.note(WAITING)).unwrap_or_default().lines().count()),
        };
        let what = format!("{} jobs to wait for their release", self.jobs);
        wait_until(&what, LIMIT, || Ok(waiting()? == self.jobs))
    }

    fn end_all(&self, cluster: &Cluster) -> Result<()> {
        let _open = self.end.open()?;
        self.await_jobs(cluster, "PD,CF,R,CG", 0)?;
        // Of a stock side. The next round counts anew.
        let _ = fs::remove_file(self.prolog.note(WAITING));
        wait_until("the partitions to go", LIMIT, || Ok(cluster.mock().partitions()?.is_empty()))
    }

    fn await_jobs(&self, cluster: &Cluster, state: &str, wanted: usize) -> Result<()> {
        wait_until(&format!("{wanted} jobs to be {state}"), LIMIT, || {
            let shown = cluster.command("squeue").args(&["-h", "-r", "-t", state]).success()?.stdout;
            Ok(shown.lines().count() == wanted)
        })
    }
}

fn now() -> Result<u64> {
    Ok(u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos())?)
}
