//! The Ansible role makes a cluster of stock Slurm one with IPUs.

use std::fs;

use anyhow::{Result, ensure};
use testbed::Cluster;

use super::{files, make_stock, path_with_svipu};
use crate::{jobs::ended, quick};

/// The lines that a role must not lose: a site has other plugins in its lists.
const LISTS: &str = "SelectType=select/cons_tres\nGresTypes=gpu\nJobSubmitPlugins=vipu,throttle\n";

/// Runs the playbook on this machine, and returns its last line.
fn play(cluster: &Cluster, more: &[&str]) -> Result<String> {
    let folder = cluster.layout().jobs().join("play");
    fs::create_dir_all(&folder)?;
    let inventory = folder.join("inventory");
    fs::write(&inventory, "[slurmctld]\nlocalhost ansible_connection=local\n[slurmd]\nlocalhost\n[login]\n")?;
    let variables = serde_json::json!({
        "ansible_become": false,
        "slurm_vipu_api_host": cluster.api_host(&[0]).trim_start_matches("ApiHost="),
        "slurm_vipu_ipuof_dir": cluster.layout().ipuof(),
        "slurm_vipu_conf_dir": cluster.layout().conf("slurm.conf").parent(),
        "slurm_vipu_conf_lines": ["MaxIpusPerJob=64"],
        "slurm_vipu_packages": [],
    });
    let (inventory, variables) = (inventory.display().to_string(), variables.to_string());
    let playbook = files().join("ansible/ipus.yml").display().to_string();
    let arguments = ["--inventory", &inventory, "--extra-vars", &variables, &playbook];
    let command =
        cluster.command("ansible-playbook").args(&arguments).args(more).env("PATH", &path_with_svipu()?);
    let home = folder.display().to_string();
    let output = command.env("LC_ALL", "C.UTF-8").env("ANSIBLE_HOME", &home).success()?.stdout;
    Ok(output.trim().lines().next_back().unwrap_or_default().to_owned())
}

#[test]
fn pkg_ansible_role_gives_a_stock_cluster_ipus() -> Result<()> {
    quick().run(|cluster| {
        cluster.stop_slurmctld()?;
        make_stock(cluster, LISTS)?;
        // The testbed restarts the daemons, and not systemd.
        let first = play(cluster, &["--extra-vars", "slurm_vipu_restart=false"])?;
        ensure!(!first.contains("changed=0"), "{first}");
        let slurm_conf = fs::read_to_string(cluster.layout().conf("slurm.conf"))?;
        for line in ["SelectType=select/vipu", "GresTypes=gpu,vipu", "JobSubmitPlugins=throttle,vipu"] {
            ensure!(slurm_conf.lines().filter(|other| *other == line).count() == 1, "{line}: {slurm_conf}");
        }
        cluster.restart_slurmd(1)?;
        cluster.start_slurmctld()?;
        let job = cluster.sbatch("cat $IPUOF_CONFIG_PATH", &["--ipus=2"])?;
        ended(cluster, job, "COMPLETED")?;
        ensure!(cluster.job_output(job).contains("devices"), "{}", cluster.job_output(job));
        // svipu doctor is part of this run. No handler is: nothing has changed.
        let second = play(cluster, &[])?;
        ensure!(second.contains("changed=0") && second.contains("failed=0"), "{second}");
        Ok(())
    })
}
