//! `cargo xtask pictures`: draws pictures of docs/pictures from a real Slurm, and prints what svipu shows.

use std::time::Duration;

use anyhow::Result;
use testbed::{Cluster, JobId, wait_until};

use crate::run;

const LIMIT: Duration = Duration::from_secs(60);

/// The numbers of IPUs of jobs that come and go first, and the seconds that each runs.
const PAST: [(u32, u32); 12] = [
    (16, 40),
    (32, 30),
    (8, 60),
    (4, 20),
    (64, 15),
    (16, 30),
    (2, 50),
    (16, 25),
    (8, 20),
    (1, 40),
    (32, 20),
    (4, 30),
];

/// The limit for all of them.
const PAST_LIMIT: Duration = Duration::from_secs(600);

/// The numbers of IPUs of jobs that run, and of jobs that wait.
const RUNNING: [u32; 8] = [16, 8, 4, 4, 2, 1, 1, 16];
const WAITING: [u32; 2] = [32, 64];

pub fn run() -> Result<()> {
    let settings = Cluster::settings().cpus(64).slurm_conf("SchedulerParameters=bf_interval=1");
    settings.run(|cluster| {
        let past = PAST.map(|(ipus, seconds)| submit(cluster, &format!("sleep {seconds}"), ipus));
        for job in past {
            cluster.await_end(job?, PAST_LIMIT)?;
        }
        let running = submit_all(cluster, &RUNNING)?;
        for job in &running {
            cluster.await_job(*job, "to run", LIMIT, |job| job.state == "RUNNING")?;
        }
        let waiting = submit_all(cluster, &WAITING)?;
        wait_until("the reasons of the waiting jobs", LIMIT, || {
            let shown = svipu(cluster, &["queue", "--noheader", "--format=start,reason"])?;
            let known = shown.lines().filter(|line| line.contains(':') && line.contains("vipu: ")).count();
            Ok(known == WAITING.len())
        })?;
        let pictures = run::workspace().join("docs/pictures");
        for command in ["map", "top"] {
            let picture = pictures.join(command).with_extension("svg");
            svipu(cluster, &[command, "--svg", &picture.display().to_string()])?;
        }
        print!("{}", svipu(cluster, &["status"])?);
        let all: Vec<_> = running.iter().chain(&waiting).map(JobId::to_string).collect();
        cluster.command("scancel").args(&all.iter().map(String::as_str).collect::<Vec<_>>()).success()?;
        running.iter().chain(&waiting).try_for_each(|job| cluster.await_end(*job, LIMIT).map(drop))
    })
}

fn submit_all(cluster: &Cluster, sizes: &[u32]) -> Result<Vec<JobId>> {
    sizes.iter().map(|ipus| submit(cluster, "sleep 3600", *ipus)).collect()
}

fn submit(cluster: &Cluster, script: &str, ipus: u32) -> Result<JobId> {
    cluster.sbatch(script, &[&format!("--gres=vipu:pod64:{ipus}"), "--time=2:00:00"])
}

fn svipu(cluster: &Cluster, args: &[&str]) -> Result<String> {
    Ok(cluster.command("svipu").env("LANG", "C.UTF-8").args(args).success()?.stdout)
}
