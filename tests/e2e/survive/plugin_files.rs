//! The plugins as files: the objects that clients load are small, and a missing object holds IPU jobs back.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use testbed::{main_job, programs};

use crate::jobs::{ended, restart_slurmctld};
use crate::quick;

/// The objects that squeue, sinfo, srun and slurmstepd load, with the most bytes and relocations of each.
const LOADED_BY_CLIENTS: [(&str, u64, usize); 3] = [
    ("select_vipu.so", 1_000_000, 3000),
    ("gres_vipu.so", 1_000_000, 3000),
    ("spank_ipuof.so", 1_000_000, 3000),
];

#[test]
fn job_clients_load_little() -> Result<()> {
    for (name, most_bytes, most_relocations) in LOADED_BY_CLIENTS {
        let file = programs::own_plugin(name)?;
        let bytes = fs::metadata(&file)?.len();
        let relocations = relocations(&file)?;
        ensure!(bytes <= most_bytes, "{name} has {bytes} bytes, at most {most_bytes} are allowed");
        ensure!(relocations <= most_relocations, "{name} has {relocations} relocations");
    }
    Ok(())
}

fn relocations(file: &Path) -> Result<usize> {
    let output = Command::new("readelf").args(["--relocs", "--wide"]).arg(file).output();
    let output = output.context("readelf is part of binutils, which the Rust toolchain's linker needs")?;
    let text = String::from_utf8(output.stdout)?;
    // Decision 5: the file loads into every release, because it names no symbol of Slurm.
    let of_slurm = text.lines().find(|line| ["slurm", "spank"].iter().any(|word| line.contains(word)));
    ensure!(of_slurm.is_none(), "{} needs a symbol of Slurm: {of_slurm:?}", file.display());
    let count = text.lines().filter(|line| line.contains(" R_")).count();
    ensure!(count > 0, "readelf shows no relocations of {}", file.display());
    Ok(count)
}

#[test]
fn job_waits_when_the_plugin_is_switched_off() -> Result<()> {
    let settings =
        quick().slurm_conf("SchedulerParameters=bf_interval=1").expect_log("IPU jobs will not start");
    settings.run(|cluster| {
        let job = cluster.sbatch("echo it ran", &["--gres=vipu:pod64:4", "--hold"])?;
        let object = cluster.layout().plugins().join("vipu_slurmctld.so");
        fs::rename(&object, object.with_extension("away"))?;
        restart_slurmctld(cluster)?;
        for request in ["--ipus=4", "--gres=vipu:pod64:4"] {
            let refused = cluster.command("sbatch").args(&[request, "--wrap=true"]).output()?;
            let why = "no job with IPUs can start: slurmctld cannot use vipu_slurmctld.so";
            ensure!(refused.code != 0 && refused.stderr.contains(why), "{request}: {refused:?}");
        }
        cluster.scontrol(&["release", &job.to_string()])?;
        main_job::start_delay(cluster)?;
        let waiting = cluster.job(job)?;
        ensure!(waiting.state == "PENDING", "{waiting:?}");
        fs::rename(object.with_extension("away"), &object)?;
        restart_slurmctld(cluster)?;
        ended(cluster, job, "COMPLETED").map(drop)
    })
}
