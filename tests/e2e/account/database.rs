//! Jobs in the database.

use anyhow::{Result, ensure};
use testbed::wait_until;

use super::{add_root, enforcing};
use crate::LIMIT;

#[test]
fn acct_jobs_are_in_the_database_with_their_requests() -> Result<()> {
    enforcing().run(|cluster| {
        add_root(cluster, &["normal"])?;
        let job = cluster.sbatch("true", &["--ipus=16"])?;
        cluster.await_end(job, LIMIT)?;
        let sacct = || {
            let args = ["-XnP", "-j", &job.to_string(), "-o", "State,ReqTRES"];
            Ok::<_, anyhow::Error>(cluster.command("sacct").args(&args).success()?.stdout)
        };
        wait_until("the end of the job in the database", LIMIT, || Ok(sacct()?.starts_with("COMPLETED")))?;
        let shown = sacct()?;
        ensure!(shown.contains("gres/vipu:pod64=16") && shown.contains("gres/vipu=16"), "{shown}");
        Ok(())
    })
}
