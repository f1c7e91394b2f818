//! The reason in squeue names the true cause for which an IPU job waits.

use anyhow::Result;

use crate::jobs::{ipus, let_go, roomy, running_for, waits};

#[test]
fn sched_reason_goes_when_its_cause_is_over() -> Result<()> {
    // The main scheduler looks at the first two jobs, and at no more for an hour.
    let parameters = "SchedulerParameters=bf_interval=3600,sched_interval=3600,default_queue_depth=1";
    let settings = roomy().slurm_conf(parameters);
    settings.vipu_conf("ApiTimeout=2").run(|cluster| {
        let runs = running_for(cluster, 4, 60, &[])?;
        cluster.mock().refuse()?;
        cluster.reconfigure()?;
        let behind = ipus(cluster, 64, 60, &["--priority=1000"])?;
        waits(cluster, behind, "vipu: pod64: controller 127.0.0.1:")?;
        for _ in 0..4 {
            ipus(cluster, 64, 60, &["--priority=2000"])?;
        }
        // The controller answers again.
        cluster.mock().clear()?;
        let full = "vipu: 64 IPUs of pod64 needed, 60 free, largest block 32";
        waits(cluster, behind, full)?;
        // The next slurmctld replaces the reason of an earlier one.
        cluster.await_saved()?;
        cluster.stop_slurmctld()?;
        cluster.write_vipu_conf(&["MaxIpusPerJob=16"])?;
        cluster.start_slurmctld()?;
        waits(cluster, behind, "vipu: a job on pod64 gets at most 16 IPUs")?;
        cluster.write_vipu_conf(&[])?;
        cluster.reconfigure()?;
        waits(cluster, behind, full)?;
        let_go(cluster, runs)
    })
}
