//! What a user's own sbatch and srun can make root's Prolog and Epilog believe of the IPUs.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use testbed::{Cluster, ClusterCommand, JobId, programs, wait_until};

use super::{
    other,
    prolog_and_epilog::{SCRIPTS, noted, told_of_four_ipus, with_scripts},
};
use crate::{LIMIT, quick};

const IPUS: &str = "--gres=vipu:pod64:4";

/// The plugin in `forger.c`.
const FORGER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/forger.so"));

/// The variables that the user asks for. Slurm puts `SPANK_` before the names that have none. The last is no matter of
/// slurm-vipu.
const ASKED: &str = "SLURM_VIPU_PARTITION=slurm_41 SPANK_SLURM_VIPU_IPUS=64 SITE=1";

/// The part of them that scripts may see.
const OWN: &str = "SPANK_SITE=1 ";

/// A command of a user whose slurm.conf loads the plugin.
fn forging<'a>(cluster: &Cluster, command: ClusterCommand<'a>, folder: &Path) -> Result<ClusterCommand<'a>> {
    let at = |name: &str| folder.join(name).display().to_string();
    fs::write(at("forger.so"), FORGER)?;
    fs::write(at("plugstack.conf"), format!("required {} {ASKED}\n", at("forger.so")))?;
    // It includes files of its own folder.
    let own = cluster.layout().conf("slurm-of-user.conf");
    let conf = fs::read_to_string(cluster.layout().conf("slurm.conf"))?;
    fs::write(&own, format!("{conf}\nPlugStackConfig={}\n", at("plugstack.conf")))?;
    let version = programs::slurm_version()?.0.to_string();
    let own = own.display().to_string();
    Ok(command.account(&other()?).env("SLURM_CONF", &own).env("SLURM_VERSION_NUMBER", &version))
}

#[test]
fn user_forged_script_variables_are_dropped() -> Result<()> {
    let folder = tempfile::tempdir()?;
    with_scripts(quick(), folder.path())?.run(|cluster| {
        let submit = |options: &[&str]| {
            let sbatch = cluster.sbatch_command("true", options)?;
            let job = cluster.submit(forging(cluster, sbatch, folder.path())?)?;
            cluster.await_end(job, LIMIT).map(|_| job)
        };
        let (without, with) = (submit(&[])?, submit(&[IPUS])?);
        let told = format!("{OWN}of {without}\n{OWN}{}", told_of_four_ipus(with));
        for name in SCRIPTS {
            let seen = noted(folder.path(), name, 2)?;
            ensure!(seen == told, "{name}: {seen}");
        }
        Ok(())
    })
}

/// With `Alloc`, slurmd runs Prolog with the variables that slurmctld sends. Otherwise it takes those of srun, which
/// slurmctld's log tells.
#[test]
fn user_forged_script_variables_of_srun_pass_without_alloc() -> Result<()> {
    let forged = "SPANK_SITE=1 SPANK_SLURM_VIPU_IPUS=64 SPANK_SLURM_VIPU_PARTITION=slurm_41 ";
    for (flags, is_told) in [("PrologFlags=Alloc", true), ("PrologFlags=Serial", false)] {
        let folder = tempfile::tempdir()?;
        with_scripts(quick().slurm_conf(flags), folder.path())?.run(|cluster| {
            let run = |options: &[&str]| {
                let srun = cluster.command("srun").args(options).args(&["sh", "-c", "echo $SLURM_JOB_ID"]);
                forging(cluster, srun, folder.path())?.success()?.stdout.parse::<JobId>()
            };
            let (without, with) = (run(&[])?, run(&[IPUS])?);
            let told = format!("{OWN}of {without}\n{OWN}{}", told_of_four_ipus(with));
            let deceived = format!("{forged}of {without}\n{forged}of {with}\n");
            for name in SCRIPTS {
                let seen = noted(folder.path(), name, 2)?;
                let expected = if is_told || name != "Prolog" { &told } else { &deceived };
                ensure!(seen == *expected, "{flags}, {name}: {seen}");
            }
            let warned = || cluster.slurmctld_log().contains("has a Prolog without PrologFlags=Alloc");
            if is_told {
                ensure!(!warned(), "{flags}");
                return Ok(());
            }
            wait_until("the warning", LIMIT, || Ok(warned()))
        })?;
    }
    Ok(())
}
