//! The closing table.

use std::time::Duration;

use testbed::main_job::IpuRun;

const COLUMNS: [&str; 7] = ["job", "by", "IPUs", "partition", "create s", "ready-to-start ms", "state"];

/// One line for each job, below its columns' names.
pub fn of(runs: &[IpuRun]) -> String {
    let header = COLUMNS.map(str::to_owned);
    let rows: Vec<_> = [header].into_iter().chain(runs.iter().map(row)).collect();
    let mut widths = [0; COLUMNS.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let line = |row: &[String; COLUMNS.len()]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn row(run: &IpuRun) -> [String; COLUMNS.len()] {
    [
        run.job.to_string(),
        run.by.to_owned(),
        run.ipus.to_string(),
        run.partition.clone(),
        format!("{:.2}", run.create.as_secs_f64()),
        format!("{:.1}", 1e3 * run.ready_to_start.as_secs_f64()),
        run.state.clone(),
    ]
}

/// The median over the batch jobs: `srun` and `salloc` ask only now and then whether their job is ready.
pub fn median_ready_to_start(runs: &[IpuRun]) -> Option<Duration> {
    let batch = runs.iter().filter(|run| !["srun", "salloc"].contains(&run.by));
    let mut times: Vec<_> = batch.map(|run| run.ready_to_start).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use testbed::JobId;

    use super::*;

    fn run(by: &'static str, milliseconds: u64) -> IpuRun {
        IpuRun {
            job: JobId(7),
            by,
            ipus: 16,
            partition: "slurm_7".into(),
            create: Duration::from_millis(2010),
            ready_to_start: Duration::from_millis(milliseconds),
            state: "COMPLETED".into(),
        }
    }

    #[test]
    fn the_table_is_aligned() {
        let lines = "job  by      IPUs  partition  create s  ready-to-start ms  state\n\
                     7    sbatch  16    slurm_7    2.01      12.0               COMPLETED\n";
        assert_eq!(of(&[run("sbatch", 12)]), lines);
    }

    #[test]
    fn the_median_is_that_of_batch_jobs() {
        let runs =
            [run("sbatch", 30), run("srun", 600), run("array", 10), run("array", 20), run("salloc", 1)];
        assert_eq!(median_ready_to_start(&runs), Some(Duration::from_millis(20)));
        assert_eq!(median_ready_to_start(&runs[1..2]), None);
    }
}
