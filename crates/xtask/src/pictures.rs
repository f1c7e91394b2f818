//! `cargo xtask pictures`: draws a picture of docs/pictures from a real Slurm, and prints what svipu shows.

use std::time::Duration;

use anyhow::Result;
use testbed::{Cluster, JobId, wait_until};

use crate::run;

const LIMIT: Duration = Duration::from_secs(60);

/// The numbers of IPUs of jobs that run, and of jobs that wait.
const RUNNING: [u32; 8] = [16, 8, 4, 4, 2, 1, 1, 16];
const WAITING: [u32; 2] = [32, 64];

pub fn run() -> Result<()> {
    let settings = Cluster::settings().cpus(64).slurm_conf("SchedulerParameters=bf_interval=1");
    settings.run(|cluster| {
        let running = submit(cluster, &RUNNING)?;
        for job in &running {
            cluster.await_job(*job, "to run", LIMIT, |job| job.state == "RUNNING")?;
        }
        let waiting = submit(cluster, &WAITING)?;
        wait_until("the reasons of the waiting jobs", LIMIT, || {
            let shown = svipu(cluster, &["queue", "--noheader", "--format=start,reason"])?;
            let known = shown.lines().filter(|line| line.contains(':') && line.contains("vipu: ")).count();
            Ok(known == WAITING.len())
        })?;
        let map = run::workspace().join("docs/pictures/map.svg");
        svipu(cluster, &["map", "--svg", &map.display().to_string()])?;
        print!("{}", svipu(cluster, &["status"])?);
        let all: Vec<_> = running.iter().chain(&waiting).map(JobId::to_string).collect();
        cluster.command("scancel").args(&all.iter().map(String::as_str).collect::<Vec<_>>()).success()?;
        running.iter().chain(&waiting).try_for_each(|job| cluster.await_end(*job, LIMIT).map(drop))
    })
}

fn submit(cluster: &Cluster, sizes: &[u32]) -> Result<Vec<JobId>> {
    let gres = |ipus: &u32| format!("--gres=vipu:pod64:{ipus}");
    sizes.iter().map(|ipus| cluster.sbatch("sleep 3600", &[&gres(ipus), "--time=2:00:00"])).collect()
}

fn svipu(cluster: &Cluster, args: &[&str]) -> Result<String> {
    Ok(cluster.command("svipu").args(args).success()?.stdout)
}
