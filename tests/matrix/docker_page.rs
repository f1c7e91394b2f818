//! The commands of docs/docker.md, in the order of the page.

use anyhow::{Context as _, Result, ensure};
use testbed::{
    Account, JobId,
    compose::{Cluster, NODES},
    main_job::{SHOW, batch_ended},
    page, wait_until,
};

use crate::{LIMIT, quick};

const PAGE: &str = include_str!("../../docs/docker.md");

/// The commands of the page that need Docker.
fn commands() -> impl Iterator<Item = String> {
    let is_command = |code: &String| code.contains("docker-compose ") || code.starts_with("docker network");
    page::code(PAGE).filter(is_command)
}

/// Waits until slurmd answers on each node. slurmctld notices later that a node was away.
fn nodes_answer(cluster: &Cluster) -> Result<()> {
    for name in NODES {
        let node = cluster.host(name)?;
        wait_until(&format!("slurmd on {name}"), LIMIT, || {
            let asked = node.command("scontrol", &Account::root()?).args(&["show", "slurmd"]).output();
            Ok(asked.is_ok_and(|output| output.code == 0))
        })?;
    }
    cluster.await_nodes()
}

struct Page<'a, C> {
    cluster: &'a Cluster,
    commands: C,
}

impl<C: Iterator<Item = String>> Page<'_, C> {
    /// The next command, which has to contain `words`.
    fn next(&mut self, words: &str) -> Result<String> {
        let command = self.commands.next().with_context(|| format!("the page ends before '{words}'"))?;
        ensure!(command.contains(words), "'{words}' is expected, the page has: {command}");
        Ok(command)
    }

    /// Runs the next command, which contains `words` and has to print `told`.
    fn runs(&mut self, words: &str, told: &str) -> Result<()> {
        let command = self.next(words)?;
        let output = self.cluster.run_page_line(&command)?;
        ensure!(output.stdout.contains(told), "{command} does not print {told}: {output:?}");
        Ok(())
    }
}

#[test]
fn matrix_docker_page_is_followed() -> Result<()> {
    let settings = quick().expect_log("not responding").expect_log("went into error: link down");
    settings.run_in_containers(|cluster| {
        let mut page = Page { cluster, commands: commands() };
        submit(&mut page)?;
        look(&mut page)?;
        other_settings(&mut page)?;
        break_hosts(&mut page)?;
        break_controller(&mut page)?;
        // The end of the test runs this.
        page.next("down -v")?;
        ensure!(page.commands.next().is_none(), "the page has more commands");
        Ok(())
    })
}

fn submit(page: &mut Page<impl Iterator<Item = String>>) -> Result<()> {
    page.runs("up -d", "")?;
    page.runs("sinfo", "ipu-pod64-[001-004]")?;
    page.runs("sbatch", "Submitted batch job 1")?;
    page.runs("squeue", "JOBID")?;
    page.runs("srun", "/ipuof/slurm_2.conf")?;
    page.runs("salloc", "/ipuof/slurm_3.conf")?;
    page.cluster.await_end(JobId(1), LIMIT)?;
    page.runs("cat slurm-1.out", "IPUOF_CONFIG_PATH=/ipuof/slurm_1.conf")?;
    page.runs("VIPU_CREATE=10s", "")?;
    page.cluster.mock().connect(LIMIT)
}

fn look(page: &mut Page<impl Iterator<Item = String>>) -> Result<()> {
    let cluster = page.cluster;
    page.runs("vipu:pod64:32", "Submitted batch job 4")?;
    cluster.await_state(JobId(4), "RUNNING", LIMIT)?;
    page.runs("vipu:pod64:64", "Submitted batch job 5")?;
    cluster.await_job(JobId(5), "to say why it waits", LIMIT, |job| job.reason.contains("needed"))?;
    page.runs("squeue -o", "5 alice PENDING vipu: 64 IPUs of pod64 needed")?;
    page.runs("sacct", "gres/vipu")?;
    page.runs("vipu-control report", "slurm_4")?;
    page.runs("ls -l /ipuof", "slurm_4.conf")?;
    page.runs("logs -t slurmctld", "select/vipu")?;
    page.runs("grep select/vipu", "job 4")?;
    page.runs("ps", "healthy")?;
    page.runs("scontrol reconfigure", "")?;
    cluster.command("scancel").args(&["4"]).success()?;
    let ended = cluster.await_end(JobId(5), LIMIT)?;
    ensure!(ended.state == "COMPLETED", "{ended:?}");
    Ok(())
}

/// Starts this cluster under its own names, in place of a second one, and with configless nodes.
fn other_settings(page: &mut Page<impl Iterator<Item = String>>) -> Result<()> {
    page.runs("-p forky up -d", "")?;
    page.runs("-p forky exec -T login sinfo -V", &page.cluster.slurm()?.to_string())?;
    page.next("-p forky down -v")?;
    page.runs("NODE_ROLE=configless-node", "")?;
    nodes_answer(page.cluster)?;
    page.runs("svipu doctor", "/run/slurm/conf/slurm.conf")
}

fn break_hosts(page: &mut Page<impl Iterator<Item = String>>) -> Result<()> {
    let cluster = page.cluster;
    page.runs("network disconnect", "")?;
    page.runs("network connect", "")?;
    page.runs("restart ipu-pod64-004", "")?;
    nodes_answer(cluster)?;
    page.runs("kill ipu-pod64-002", "")?;
    page.runs("start ipu-pod64-002", "")?;
    nodes_answer(cluster)?;
    page.runs("kill slurmctld", "")?;
    page.runs("start slurmctld", "")?;
    cluster.await_slurmctld()
}

fn break_controller(page: &mut Page<impl Iterator<Item = String>>) -> Result<()> {
    let cluster = page.cluster;
    page.runs("restart vipu", "")?;
    page.runs("stop vipu", "")?;
    page.runs("start vipu", "")?;
    cluster.mock().connect(LIMIT)?;
    page.runs("link down", "")?;
    let next = cluster.sbatch(SHOW, &["--gres=vipu:pod64:4"])?;
    wait_until("the line of the page", LIMIT, || {
        Ok(cluster.slurmctld_log()?.contains("it went into error: link down; trying again"))
    })?;
    page.runs("vipu-control clear", "")?;
    batch_ended(cluster, next, 4).map(drop)
}
