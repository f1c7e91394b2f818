//! An array that asks for more IPUs than there are.

use std::time::Duration;

use anyhow::{Result, ensure};
use testbed::{Cluster, main_job};

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
