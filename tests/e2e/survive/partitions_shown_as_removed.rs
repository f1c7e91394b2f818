//! A controller that shows a removed partition as removed for a while, with its name and IPUs in use.

use anyhow::{Result, ensure};
use testbed::main_job;
use vipu_client::Call;

use crate::{LIMIT, quick};

#[test]
fn job_array_of_sixteen_is_never_refused() -> Result<()> {
    quick().run(|cluster| {
        let first = cluster.sbatch("sleep 0.5", &["--gres=vipu:pod64:16", "--array=0-15"])?;
        let tasks = || {
            let jobs = cluster.jobs()?.into_iter();
            Ok::<_, anyhow::Error>(jobs.filter(|job| job.array == Some(first)).collect::<Vec<_>>())
        };
        testbed::wait_until("the tasks to end", 2 * LIMIT, || {
            let tasks = tasks()?;
            Ok(tasks.len() == 16 && tasks.iter().all(testbed::JobView::is_over))
        })?;
        for task in tasks()? {
            ensure!((task.state.as_str(), task.restarts) == ("COMPLETED", 0), "{task:?}");
            cluster.mock().await_removed(&main_job::partition_name(task.id, 0), LIMIT)?;
        }
        let creates = cluster.mock().report()?.calls(Call::CreatePartition);
        ensure!(creates == 16, "{creates} calls for 16 partitions");
        Ok(())
    })
}
