//! A login host without our plugins.

use anyhow::{Result, ensure};
use slurm_release::Series;
use testbed::{
    Account,
    compose::{Cluster, Host},
    main_job::{SHOW, Shown},
};

use crate::{LIMIT, partition, quick};

/// A user's commands, and the last of the tested series in which each loads the selector.
const COMMANDS: [(&[&str], Series); 7] = [
    (&["sinfo"], V24_11),
    (&["scontrol", "show", "node"], V24_11),
    (&["scontrol", "show", "job"], V22_05),
    (&["squeue"], V22_05),
    (&["sbatch", "--output=/dev/null", "--wrap=true"], V22_05),
    (&["srun", "true"], V22_05),
    (&["salloc", "true"], V22_05),
];

const V22_05: Series = Series::new(22, 5);
const V24_11: Series = Series::new(24, 11);

/// The commands that load SPANK plugins.
const SUBMITTERS: [&str; 3] = ["sbatch", "srun", "salloc"];

/// The messages of commands without the selector, and without the SPANK plugin.
const SELECTOR: &str = "fatal: Can't find plugin for select/vipu";
const SPANK: &str = "Failed to load plugin spank_ipuof.so";

#[test]
fn matrix_login_without_plugin() -> Result<()> {
    quick().run_in_containers(|cluster| {
        let login = cluster.spare_login("bare")?;
        // squeue and scontrol need a job to show.
        cluster.sbatch("sleep 1000", &[])?;
        let series = cluster.slurm()?.series();
        let shell =
            |words: &str| login.command("sh", &Account::root()?).args(&["-c", words]).success().map(drop);
        let plugstack = |line: &str| shell(&format!("echo '{line}' > /cluster/etc/plugstack.conf"));
        shell("rm /opt/vipu/plugins/*.so")?;
        // Here plugstack.conf requires spank_ipuof.so, as on the nodes.
        check(cluster, &login, "no select_vipu.so, required", |command, last| {
            match SUBMITTERS.contains(&command) {
                true if command == "srun" && series <= last => Some(SELECTOR),
                true => Some(SPANK),
                false => (series <= last).then_some(SELECTOR),
            }
        })?;
        let without = |_: &str, last| (series <= last).then_some(SELECTOR);
        plugstack("")?;
        check(cluster, &login, "no select_vipu.so, no", without)?;
        plugstack("optional spank_ipuof.so ipuof_dir=/ipuof")?;
        check(cluster, &login, "no select_vipu.so, optional", without)?;
        // The selector is enough, even for commands that load it.
        shell("cp /given/vipu/plugins/select_vipu.so /opt/vipu/plugins/")?;
        check(cluster, &login, "select_vipu.so, optional", |_, _| None)?;
        plugstack("")?;
        check(cluster, &login, "select_vipu.so, no", |_, _| None)?;
        // The nodes load spank_ipuof.so without the login host's line.
        let srun = ["--job-name=with-ipus", "--gres=vipu:pod64:2", "bash", "-c", SHOW];
        let running = login.command("srun", cluster.user()).args(&srun).start()?;
        let job = cluster.await_job_named("with-ipus", LIMIT)?;
        Shown::parse(&running.success(LIMIT)?.stdout)?.check(&partition(job), 2)
    })
}

/// Runs all commands on `login`. Checks that each works, or fails with the message that `missing` gives for
/// it.
fn check(
    cluster: &Cluster,
    login: &Host,
    with: &str,
    missing: impl Fn(&str, Series) -> Option<&'static str>,
) -> Result<()> {
    println!("with {with} spank_ipuof.so in plugstack.conf:");
    for (words, last) in COMMANDS {
        let output = login.command(words[0], cluster.user()).args(&words[1..]).output()?;
        println!("  {}: {} {}", words.join(" "), output.code, output.stderr.trim().replace('\n', "\n    "));
        match missing(words[0], last) {
            None => ensure!(output.code == 0, "{words:?}: {output:?}"),
            Some(what) => ensure!(output.code != 0 && output.stderr.contains(what), "{words:?}: {output:?}"),
        }
    }
    Ok(())
}
