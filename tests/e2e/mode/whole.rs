//! Jobs that get all IPUs of a Pod (`Mode=whole`).

use crate::jobs::{cancel, ended, let_go, roomy, running, runs, staying, waits};
use anyhow::{Result, ensure};

/// A job that was accepted before keeps its partition, or waits with the reason.
#[test]
fn mode_whole_comes_while_jobs_of_other_sizes_run() -> Result<()> {
    roomy().run(|cluster| {
        let before = running(cluster, 16, &[])?;
        let other = staying(cluster, 64, &["--dependency=singleton", "--job-name=x"])?;
        let too_small = staying(cluster, 32, &["--hold"])?;
        cluster.write_vipu_conf(&["Mode=whole"])?;
        cluster.reconfigure()?;
        waits(cluster, other, "64 IPUs of pod64 needed, 48 free")?;
        cluster.scontrol(&["release", &too_small.to_string()])?;
        waits(cluster, too_small, "jobs on pod64 get all 64 IPUs")?;
        let_go(cluster, before)?;
        ended(cluster, before, "COMPLETED")?;
        runs(cluster, other)?;
        let_go(cluster, other)?;
        let refused = cluster.sbatch_command("true", &["--gres=vipu:pod64:16"])?.output()?;
        let line = "vipu: jobs on pod64 get all 64 IPUs of a Pod; valid: --gres=vipu:pod64:64";
        ensure!(refused.code != 0 && refused.stderr.contains(line), "{refused:?}");
        cancel(cluster, too_small)
    })
}
