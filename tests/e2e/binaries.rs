//! The plugins as files: what clients load is small, and an unknown Slurm is refused.

use std::{collections::BTreeSet, fs, io, io::Write as _, path::Path, process::Command, time::Duration};

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, main_job, programs};

use crate::{LIMIT, quick};

/// What squeue, sinfo, srun and slurmstepd load, with the most bytes and relocations each may have.
const LOADED_BY_CLIENTS: [(&str, u64, usize); 2] =
    [("select_vipu.so", 1_000_000, 3000), ("spank_ipuof.so", 1_000_000, 3000)];

#[test]
fn job_clients_load_little() -> Result<()> {
    let with = quick().run(|cluster| {
        for (name, most_bytes, most_relocations) in LOADED_BY_CLIENTS {
            let file = cluster.layout().plugins().join(name);
            let bytes = fs::metadata(&file)?.len();
            let relocations = relocations(&file)?;
            writeln!(io::stderr(), "{name}: {bytes} bytes, {relocations} relocations")?;
            ensure!(bytes <= most_bytes, "{name} has {bytes} bytes, at most {most_bytes} are allowed");
            ensure!(relocations <= most_relocations, "{name} has {relocations} relocations");
        }
        squeue_start(cluster)
    })?;
    let without = quick().without_plugin().run(squeue_start)?;
    // Past the test harness, which hides what a test that passes prints.
    writeln!(io::stderr(), "squeue answers in {with:?} with the plugin, in {without:?} without")?;
    Ok(())
}

fn relocations(file: &Path) -> Result<usize> {
    let output = Command::new("readelf").args(["--relocs", "--wide"]).arg(file).output();
    let output = output.context("readelf is part of binutils, which the Rust toolchain's linker needs")?;
    let text = String::from_utf8(output.stdout)?;
    let count = text.lines().filter(|line| line.contains(" R_")).count();
    ensure!(count > 0, "readelf shows no relocations of {}", file.display());
    Ok(count)
}

fn squeue_start(cluster: &Cluster) -> Result<Duration> {
    // With nothing to show squeue loads no plugin.
    cluster.sbatch("true", &["--hold"])?;
    cluster.answer_time("squeue")
}

#[test]
fn job_unknown_release_is_refused() -> Result<()> {
    // A stock selector that says it is of Slurm 99.00.0, where ours looks first.
    let stock = fs::read(programs::stock_plugins()?.join("select_cons_tres.so"))?;
    quick().run(|cluster| {
        let (real, unknown) = ([8, 5, 22, 0], [0, 0, 99, 0]);
        let mut other = stock;
        let places: Vec<_> =
            (0..other.len() - 3).step_by(4).filter(|&at| other[at..at + 4] == real).collect();
        ensure!(!places.is_empty(), "the stock selector has no version number");
        for at in places {
            other[at..at + 4].copy_from_slice(&unknown);
        }
        let planted = cluster.layout().plugins().join("select_cons_tres.so");
        fs::write(&planted, other)?;
        let refused = cluster.command("sinfo").output()?;
        fs::remove_file(planted)?;
        // Slurm tries to load it more than once.
        let lines: BTreeSet<_> =
            refused.stderr.lines().filter(|line| line.contains("select/vipu: ")).collect();
        ensure!(refused.code != 0 && lines.len() == 1, "sinfo runs: {refused:?}");
        ensure!(
            lines.iter().all(|line| line.contains("99.00.0 is not supported") && line.contains("22.05.8")),
            "{refused:?}"
        );
        Ok(())
    })
}

#[test]
fn job_waits_when_the_plugin_is_switched_off() -> Result<()> {
    let settings =
        quick().slurm_conf("SchedulerParameters=bf_interval=1").expect_log("IPU jobs will not start");
    settings.run(|cluster| {
        let object = cluster.layout().plugins().join("vipu_slurmctld.so");
        fs::rename(&object, object.with_extension("away"))?;
        cluster.stop_slurmctld()?;
        cluster.start_slurmctld()?;
        let job = cluster.sbatch("echo it ran", &["--gres=vipu:pod64:4"])?;
        main_job::start_delay(cluster)?;
        let waiting = cluster.job(job)?;
        ensure!(waiting.state == "PENDING", "{waiting:?}");
        fs::rename(object.with_extension("away"), &object)?;
        cluster.stop_slurmctld()?;
        cluster.start_slurmctld()?;
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "COMPLETED", "{ended:?}");
        Ok(())
    })
}
