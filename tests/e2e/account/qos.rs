//! Limits by QOS where Slurm chooses the QOS of a job.

use anyhow::Result;

use super::{add_root, enforcing};
use crate::LIMIT;
use crate::jobs::{update, waits};

#[test]
fn user_limit_of_the_default_qos_holds_while_the_job_waits() -> Result<()> {
    enforcing().vipu_conf("MaxIpusPerJobInQos=low:8").run(|cluster| {
        add_root(cluster, &["low", "normal"])?;
        // The submit does not name the QOS, so that only the waiting job shows it.
        let job = cluster.sbatch("true", &["--ipus=16"])?;
        waits(
            cluster,
            job,
            "vipu: a job of QOS low gets at most 8 IPUs of pod64; valid: --gres=vipu:pod64:8",
        )?;
        update(cluster, job, &["QOS=normal"])?;
        cluster.await_end(job, LIMIT).map(drop)
    })
}
