//! The commands of docs/docker.md, in the order of the page.

use anyhow::{Context as _, Result, ensure};
use testbed::{
    JobId,
    compose::Cluster,
    main_job::{SHOW, batch_ended},
    wait_until,
};

use crate::{LIMIT, quick};

const PAGE: &str = include_str!("../../docs/docker.md");

/// The commands of the page that need Docker, also those in sentences and tables.
fn commands() -> impl Iterator<Item = String> {
    let of_line = |line: &'static str| match line.strip_prefix("    ") {
        Some(block) => vec![block],
        None => line.split('`').skip(1).step_by(2).collect(),
    };
    let is_command = |code: &&str| code.contains("docker-compose ") || code.starts_with("docker network");
    // A table writes `\|` for a pipe.
    PAGE.lines().flat_map(of_line).filter(is_command).map(|command| command.replace("\\|", "|"))
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
        let output = self.cluster.run_at_compose_file(&command)?;
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
        other_clusters(&mut page)?;
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
    page.runs("squeue -o", "5 alice PENDING vipu: 64 IPUs of pod64 needed, 32 free, largest block 32")?;
    page.runs("sacct", "gres/vipu")?;
    page.runs("vipu-control report", "slurm_4")?;
    page.runs("ls -l /ipuof", "slurm_4.conf")?;
    page.runs("logs -t slurmctld", "slurmctld")?;
    page.runs("grep select/vipu", "job 4")?;
    page.runs("ps", "slurmctld")?;
    page.runs("scontrol reconfigure", "")?;
    cluster.await_end(JobId(4), LIMIT)?;
    let ended = cluster.await_end(JobId(5), LIMIT)?;
    ensure!(ended.state == "COMPLETED", "{ended:?}");
    Ok(())
}

fn other_clusters(page: &mut Page<impl Iterator<Item = String>>) -> Result<()> {
    page.runs("-p forky up -d", "")?;
    page.runs("-p forky exec -T login sinfo -V", "slurm")?;
    page.next("-p forky down -v")?;
    page.runs("NODE_ROLE=configless-node", "")?;
    page.cluster.await_nodes()?;
    page.runs("svipu doctor", "/run/slurm/conf/slurm.conf")
}

fn break_hosts(page: &mut Page<impl Iterator<Item = String>>) -> Result<()> {
    let cluster = page.cluster;
    page.runs("network disconnect", "")?;
    page.runs("network connect", "")?;
    page.runs("restart ipu-pod64-004", "")?;
    cluster.await_nodes()?;
    page.runs("kill ipu-pod64-002", "")?;
    page.runs("start ipu-pod64-002", "")?;
    cluster.await_nodes()?;
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
