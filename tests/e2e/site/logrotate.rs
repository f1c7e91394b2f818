//! logrotate with the logs of Slurm and the audit log.

use std::fs;

use anyhow::{Result, ensure};
use testbed::{wait_until, write_program};

use super::{files, path_with};
use crate::{LIMIT, jobs, quick};

#[test]
fn cli_logrotate_loses_no_line_of_any_log() -> Result<()> {
    quick().run(|cluster| {
        let (logs, state) = (cluster.layout().logs(), cluster.layout().state());
        let run = || {
            let job = cluster.sbatch("true", &["--ipus=2"])?;
            jobs::ended(cluster, job, "COMPLETED")?;
            Ok::<_, anyhow::Error>(job)
        };
        let audited = |name: &str, job| {
            let text = fs::read_to_string(state.join(name)).unwrap_or_default();
            let of_job = text.lines().filter(|line| line.contains(&format!("\"partition\":\"slurm_{job}\"")));
            of_job.filter(|line| ["create", "ready", "remove", "gone"].iter().any(|it| line.contains(it))).count()
        };
        let before = run()?;
        let whole = |name, job| wait_until("the lines of the job", LIMIT, || Ok(audited(name, job) == 4));
        whole("vipu_audit.jsonl", before)?;

        let slurmctld = cluster.slurmctld()?.pid;
        let pkill = format!(
            "#!/bin/sh\ncase \"$*\" in\n'-x --signal SIGUSR2 slurmctld') kill -USR2 {slurmctld} ;;\n'-x --signal SIGUSR2 slurmd') ;;\n*) exit 2 ;;\nesac\n"
        );
        let folder = cluster.layout().jobs();
        write_program(&folder.join("bin/pkill"), &pkill)?;
        let site = fs::read_to_string(files().join("logrotate/slurm"))?;
        let site = site.replace("/var/log/slurm", &logs.display().to_string());
        let audit = format!("{}/vipu_audit.jsonl {{\n    rotate 4\n    nocreate\n}}\n", state.display());
        // The folders of a test are open to all users, which logrotate refuses without these words.
        let head = "su root root\n";
        let conf = folder.join("logrotate.conf");
        fs::write(&conf, [head, &site, &audit].concat())?;
        let (conf, memory) = (conf.display().to_string(), folder.join("memory").display().to_string());
        let rotate = cluster.command("logrotate").env("PATH", &path_with(&folder.join("bin"))?);
        rotate.args(&["--force", "--state", &memory, &conf]).success()?;

        let after = run()?;
        whole("vipu_audit.jsonl", after)?;
        ensure!(audited("vipu_audit.jsonl.1", before) == 4 && audited("vipu_audit.jsonl", before) == 0);
        let log = |name: &str| fs::read_to_string(logs.join(name)).unwrap_or_default();
        wait_until("the job in the new log", LIMIT, || Ok(log("slurmctld.log").contains(&format!("slurm_{after}"))))?;
        ensure!(log("slurmctld.log.1").contains(&format!("slurm_{before}")));
        ensure!(cluster.slurmctld()?.pid == slurmctld, "slurmctld has ended");
        let past = ["--status", &state.display().to_string(), "job", &before.to_string()];
        let past = cluster.command("svipu").args(&past).success()?.stdout;
        ensure!(past.contains(&format!("history of partition slurm_{before}")), "{past}");
        Ok(())
    })
}
