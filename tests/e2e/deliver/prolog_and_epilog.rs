//! The variables of a job's IPUs in Prolog and Epilog, and the partition during these scripts.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    time::Duration,
};

use anyhow::{Result, ensure};
use testbed::{Settings, wait_until};

use crate::{LIMIT, quick};

/// Writes a script that notes its variables of the IPUs, and the job's id, in a file beside it. If the job has an
/// IPUoF file then, the script makes another file.
fn script(folder: &Path, name: &str) -> Result<String> {
    let path = folder.join(name);
    let out = path.with_extension("out");
    let seen = "env | grep ^SPANK_SLURM_VIPU_ | grep -v CONTROLLER | sort | tr '\\n' ' '";
    let there = format!("test -e {}/ipuof/slurm_$SLURM_JOB_ID.conf", folder.display());
    let make = format!("{there} && touch {}", path.with_extension("ready").display());
    fs::write(&path, format!("#!/bin/sh\n{make}\n({seen}; echo of $SLURM_JOB_ID) >>{}\n", out.display()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path.display().to_string())
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
    // SlurmUser runs the scripts of slurmctld.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777))?;
    let scripts = ["Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld"];
    let lines = scripts.map(|name| Ok(format!("{name}={}", script(folder.path(), name)?)));
    let settings = lines
        .into_iter()
        .try_fold(site.create_time(Duration::from_secs(1)), |settings, line: Result<_>| {
            Ok::<_, anyhow::Error>(settings.slurm_conf(&line?))
        })?;
    settings.run(|cluster| {
        symlink(cluster.layout().ipuof(), folder.path().join("ipuof"))?;
        let with = cluster.sbatch("true", &["--gres=vipu:pod64:4"])?;
        cluster.await_end(with, LIMIT)?;
        let without = cluster.sbatch("true", &[])?;
        cluster.await_end(without, LIMIT)?;
        let told = format!(
            "SPANK_SLURM_VIPU_GCDS=1 SPANK_SLURM_VIPU_IPUS=4 SPANK_SLURM_VIPU_MODEL=pod64 \
             SPANK_SLURM_VIPU_PARTITION=slurm_{with} of {with}\nof {without}\n"
        );
        for name in scripts {
            let mut seen = String::new();
            wait_until(&format!("{name} of both jobs"), LIMIT, || {
                seen = fs::read_to_string(folder.path().join(name).with_extension("out")).unwrap_or_default();
                Ok(seen.lines().count() == 2)
            })?;
            ensure!(seen == told, "{name}: {seen}");
        }
        for name in ["Prolog", "Epilog"] {
            ensure!(folder.path().join(name).with_extension("ready").exists(), "no IPUoF file in {name}");
        }
        Ok(())
    })
}
