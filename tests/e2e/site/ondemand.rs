//! The Open OnDemand app: its form, and a session on a real cluster.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use testbed::write_program;

use super::{files, path_with};
use crate::{jobs::ended, quick};

/// The parts of Open OnDemand's job script that the app needs.
const BASIC: &str = r#"find_port() { echo 7777; }
create_passwd() { echo SECRET; }
export host=HOST port
source before.sh
./script.sh
"#;

/// Replaces JupyterLab.
const JUPYTER: &str = r#"#!/bin/sh
[ -r "$IPUOF_CONFIG_PATH" ] || { echo no IPUs; exit 1; }
echo "$SLURM_VIPU_IPUS IPUs, token $JUPYTER_TOKEN, a step has $(srun printenv MARK)"
echo "$@"
"#;

#[test]
fn user_ondemand_session_has_the_ipus_of_the_form() -> Result<()> {
    quick().run(|cluster| {
        let jobs = cluster.layout().jobs();
        let staged = jobs.join("staged");
        fs::create_dir(&staged)?;
        let folder = staged.display().to_string();
        let app = files().join("ondemand").display().to_string();
        let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/site/session.rb").display().to_string();
        let arguments = [&session, &app, &folder, "ipus=4", "cpus=2", "bc_queue=v-ipu"];
        let options = cluster.command("ruby").args(&arguments).success()?.stdout;

        write_program(&jobs.join("bin/jupyter"), JUPYTER)?;
        let path = path_with(&jobs.join("bin"))?;
        let script = format!("export PATH={path} MARK=marked\n{BASIC}");
        let job = cluster.sbatch(&script, &options.lines().collect::<Vec<_>>())?;
        ended(cluster, job, "COMPLETED")?;
        let shown = cluster.job_file(&format!("staged/{job}.out"));
        ensure!(shown.starts_with("4 IPUs, token SECRET, a step has marked\n"), "{shown}");
        let base = "/node/HOST/7777/";
        ensure!(
            shown.contains(&format!("--port=7777 --ServerApp.port_retries=0 --ServerApp.base_url={base}")),
            "{shown}"
        );
        ensure!(shown.contains("--ServerApp.allow_origin=https://"), "{shown}");
        let view = fs::read_to_string(staged.join("view.html"))?;
        ensure!(view.contains(&format!("href=\"{base}lab?token=SECRET\"")), "{view}");
        Ok(())
    })
}
