//! The variables of a job's IPUs in Prolog and Epilog, and the partition during these scripts.

use std::{fs, os::unix::fs::symlink, path::Path, time::Duration};

use anyhow::{Result, ensure};
use testbed::{JobId, Settings, permit, wait_until, write_program};

use crate::{LIMIT, quick};

/// The scripts of a site.
pub(super) const SCRIPTS: [&str; 4] = ["Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld"];

/// Adds a script of each kind to a site. It notes the variables from `spank_job_env` and the job's id in a file of this
/// folder.
pub(super) fn with_scripts(site: Settings, folder: &Path) -> Result<Settings> {
    // SlurmUser runs the scripts of slurmctld.
    permit(folder, 0o1777)?;
    SCRIPTS
        .iter()
        .try_fold(site, |site, name| Ok(site.slurm_conf(&format!("{name}={}", script(folder, name)?))))
}

/// Writes a script. If the job has an IPUoF file while it runs, the script makes another file.
fn script(folder: &Path, name: &str) -> Result<String> {
    let path = folder.join(name);
    let out = path.with_extension("out");
    // A shell passes on one of several variables of the same name: the file has all that Slurm gave to the script.
    let given = "tr '\\0' '\\n' </proc/$$/environ";
    let seen = format!("{given} | grep ^SPANK_ | grep -v _CONTROLLER= | sort | tr '\\n' ' '");
    let there = format!("test -e {}/ipuof/slurm_$SLURM_JOB_ID.conf", folder.display());
    let make = format!("{there} && touch {}", path.with_extension("ready").display());
    write_program(
        &path,
        &format!("#!/bin/sh\n{make}\n({seen}; echo of $SLURM_JOB_ID) >>{}\n", out.display()),
    )?;
    Ok(path.display().to_string())
}

/// Waits until a script has run for this number of jobs. Returns its notes, a line for each job.
pub(super) fn noted(folder: &Path, name: &str, jobs: usize) -> Result<String> {
    let mut seen = String::new();
    wait_until(&format!("{name} of {jobs} jobs"), LIMIT, || {
        seen = fs::read_to_string(folder.join(name).with_extension("out")).unwrap_or_default();
        Ok(seen.lines().count() == jobs)
    })?;
    Ok(seen)
}

/// The note of a script of a job with four IPUs.
pub(super) fn told_of_four_ipus(job: JobId) -> String {
    format!(
        "SPANK_SLURM_VIPU_GCDS=1 SPANK_SLURM_VIPU_IPUS=4 SPANK_SLURM_VIPU_MODEL=pod64 \
         SPANK_SLURM_VIPU_PARTITION=slurm_{job} of {job}\n"
    )
}

#[test]
fn user_prolog_and_epilog_are_told_of_the_partition() -> Result<()> {
    are_told(quick())
}

#[test]
fn user_prolog_at_allocation_is_told_of_the_partition() -> Result<()> {
    are_told(quick().slurm_conf("PrologFlags=Alloc"))
}

fn are_told(site: Settings) -> Result<()> {
    let folder = tempfile::tempdir()?;
    with_scripts(site.create_time(Duration::from_secs(1)), folder.path())?.run(|cluster| {
        symlink(cluster.layout().ipuof(), folder.path().join("ipuof"))?;
        let with = cluster.sbatch("true", &["--gres=vipu:pod64:4"])?;
        cluster.await_end(with, LIMIT)?;
        let without = cluster.sbatch("true", &[])?;
        cluster.await_end(without, LIMIT)?;
        let told = format!("{}of {without}\n", told_of_four_ipus(with));
        for name in SCRIPTS {
            let seen = noted(folder.path(), name, 2)?;
            ensure!(seen == told, "{name}: {seen}");
        }
        for name in ["Prolog", "Epilog"] {
            ensure!(folder.path().join(name).with_extension("ready").exists(), "no IPUoF file in {name}");
        }
        Ok(())
    })
}
