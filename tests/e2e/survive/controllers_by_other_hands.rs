//! A controller by other hands: it does what the interface allows, and the mock otherwise never does.

use anyhow::Result;
use mock_vipu::{Effect, Fault};
use testbed::main_job;

use crate::jobs::brisk;

/// A dozen jobs of all sizes, some of which wait for others, and one of srun.
fn all_jobs_complete(seed: u64) -> Result<()> {
    // The line about the first, second or fourth failure of a job is that of the injected error now and then.
    brisk().expect_log("it went into error: link training failed").run(|cluster| {
        cluster.mock().inject(Fault::new(Effect::OtherHands { seed }))?;
        // The first partitions are made again, under a name that may be kept.
        let text = "link training failed".to_owned();
        cluster.mock().inject(Fault::new(Effect::CreateError { text }).times(2))?;
        let sizes = [1, 2, 64, 4, 16, 8, 32, 1, 32, 2, 16, 4];
        let submit = |ipus: u32| {
            let job = cluster.sbatch(main_job::SHOW, &[&format!("--gres=vipu:pod64:{ipus}")])?;
            Ok((job, ipus))
        };
        let jobs: Vec<_> = sizes.into_iter().map(submit).collect::<Result<_>>()?;
        for (job, ipus) in jobs {
            main_job::batch_ended(cluster, job, ipus)?;
        }
        cluster.command("srun").args(&["--ipus=8", "true"]).success().map(drop)
    })
}

#[test]
fn job_after_job_completes_before_a_controller_by_other_hands() -> Result<()> {
    [1, 2, 3].into_iter().try_for_each(all_jobs_complete)
}
