//! What srun and salloc say while their users wait.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::slow;

#[test]
fn user_at_a_terminal_hears_of_the_partition() -> Result<()> {
    slow(6).run(|cluster| {
        // Of the first create it is not known how long they take; the second is not late.
        for (by, lines) in [("srun", 2), ("salloc", 1)] {
            let running = cluster.command(by).args(&["--ipus=16", "true"]).start()?;
            let output = running.success(Duration::from_secs(60))?;
            let said = output.stderr.lines().filter(|line| line.contains("vipu: creating partition slurm_"));
            let said: Vec<_> = said.collect();
            ensure!(said.len() == lines && said[0].ends_with(": 16 IPUs on pod64"), "{by}: {output:?}");
            ensure!(said[1..].iter().all(|line| line.ends_with(" on pod64, 5 s")), "{by}: {output:?}");
        }
        Ok(())
    })
}
