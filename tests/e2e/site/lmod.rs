//! The Lmod module of a Poplar SDK.

use std::fs;

use anyhow::{Result, ensure};
use testbed::write_program;

use super::files;
use crate::{jobs::ended, quick};

/// Stands for the script of Graphcore's SDK, which finds its own folder in this way.
const ENABLE: &str = r#"here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export POPLAR_SDK_ENABLED=$here
export PATH=$here/bin${PATH:+:$PATH}
"#;

/// Loads the module, submits a job with IPUs and one without, and unloads the module.
const SESSION: &str = r#"set -e
source /usr/share/lmod/lmod/init/bash
module use modules
module load poplar/3.4.0
env | grep -E '^(IPUOF_|S[A-Z]+_IPU)' && exit 1
sbatch --parsable --ipus=2 --wrap 'srun train'
sbatch --parsable --wrap 'srun train || echo no IPUs'
module unload poplar
env | grep sdks && exit 1 || true
"#;

#[test]
fn user_lmod_module_serves_jobs_with_and_without_ipus() -> Result<()> {
    quick().run(|cluster| {
        let jobs = cluster.layout().jobs();
        write_program(&jobs.join("sdks/3.4.0/enable"), ENABLE)?;
        let train =
            "#!/bin/sh\n[ -r \"$IPUOF_CONFIG_PATH\" ] && echo $SLURM_VIPU_IPUS of $POPLAR_SDK_ENABLED\n";
        write_program(&jobs.join("sdks/3.4.0/bin/train"), train)?;
        let (sdks, module) = (jobs.join("sdks").display().to_string(), "poplar/3.4.0.lua");
        let text = fs::read_to_string(files().join("lmod").join(module))?;
        ensure!(text.contains("\"/opt/graphcore/poplar_sdk\""), "{text}");
        let text = text.replace("/opt/graphcore/poplar_sdk", &sdks);
        write_program(&jobs.join("modules").join(module), &text)?;

        let typed = cluster.command("bash").args(&["-c", SESSION]).success()?.stdout;
        let ids = typed.lines().map(str::parse).collect::<Result<Vec<_>, _>>()?;
        let [with, without] = ids[..] else { anyhow::bail!("not two jobs: {typed}") };
        ended(cluster, with, "COMPLETED")?;
        ended(cluster, without, "COMPLETED")?;
        let output = |job| cluster.job_file(&format!("slurm-{job}.out"));
        ensure!(output(with) == format!("2 of {sdks}/3.4.0\n"), "{}", output(with));
        ensure!(output(without).contains("no IPUs"), "{}", output(without));
        Ok(())
    })
}

#[test]
fn user_variable_with_a_model_refuses_jobs_without_ipus() -> Result<()> {
    quick().run(|cluster| {
        let sbatch = cluster.command("sbatch").env("SBATCH_IPU_MODEL", "pod64").args(&["--wrap", "true"]);
        let refused = sbatch.output()?;
        ensure!(
            refused.code != 0 && refused.stderr.contains("--ipu-model says what a partition"),
            "{refused:?}"
        );
        Ok(())
    })
}
