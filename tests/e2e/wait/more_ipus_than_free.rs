//! More IPUs asked for than there are.

use std::time::Duration;

use anyhow::{Result, ensure};
use testbed::{Cluster, main_job};

use crate::{LIMIT, quick};

#[test]
fn job_array_four_at_a_time() -> Result<()> {
    let settings = Cluster::settings().create_time(Duration::from_millis(500));
    settings.run(|cluster| {
        let watch = main_job::watch_array(cluster, 8, || {
            let delay = main_job::start_delay(cluster)?;
            println!("a job without IPUs started after {delay:?}");
            Ok(())
        })?;
        ensure!(watch.runs.len() == 8, "{watch:?}");
        Ok(())
    })
}

#[test]
fn job_reason_names_ipus() -> Result<()> {
    quick().run(|cluster| {
        let full = cluster.sbatch("sleep 1000", &["--gres=vipu:pod64:64"])?;
        cluster.await_job(full, "to run", LIMIT, |job| job.state == "RUNNING")?;
        let waiting = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        let named = |reason: &str| reason.contains("16_IPUs_of_pod64_needed,_0_free");
        cluster.await_job(waiting, "to say why it waits", LIMIT, |job| named(&job.reason))?;
        cluster.command("scancel").args(&[&full.to_string()]).success()?;
        main_job::batch_ended(cluster, waiting, 16).map(drop)
    })
}
