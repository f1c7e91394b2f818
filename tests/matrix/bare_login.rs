//! A login host whose administrator has not installed our plugins.

use std::fs;

use anyhow::{Result, ensure};
use slurm_release::Series;
use testbed::{
    compose::{Cluster, SpareLogin},
    main_job::{SHOW, Shown},
    programs,
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

/// Those that load SPANK plugins.
const SUBMITTERS: [&str; 3] = ["sbatch", "srun", "salloc"];

/// What they, in their words, miss.
const SELECTOR: &str = "fatal: Can't find plugin for select/vipu";
const SPANK: &str = "Failed to load plugin spank_ipuof.so";

#[test]
fn matrix_login_without_plugin() -> Result<()> {
    quick().run(|cluster| {
        let login = cluster.spare_login("bare")?;
        // There shall be something to show.
        cluster.sbatch("sleep 1000", &[])?;
        let series = cluster.slurm().series();
        for plugin in programs::PLUGINS {
            fs::remove_file(login.plugin(plugin))?;
        }
        // As on the nodes.
        check(cluster, &login, "required", |command, last| match SUBMITTERS.contains(&command) {
            true if command == "srun" && series <= last => Some(SELECTOR),
            true => Some(SPANK),
            false => (series <= last).then_some(SELECTOR),
        })?;
        let without = |_: &str, last| (series <= last).then_some(SELECTOR);
        fs::write(login.conf("plugstack.conf"), "")?;
        check(cluster, &login, "no", without)?;
        fs::write(login.conf("plugstack.conf"), "optional spank_ipuof.so ipuof_dir=/ipuof\n")?;
        check(cluster, &login, "optional", without)?;
        // The selector alone is enough, where it is needed at all.
        fs::copy(cluster.plugin("select_vipu.so"), login.plugin("select_vipu.so"))?;
        check(cluster, &login, "optional", |_, _| None)?;
        fs::write(login.conf("plugstack.conf"), "")?;
        check(cluster, &login, "no", |_, _| None)?;
        // On the nodes spank_ipuof.so does its work all the same.
        let srun = ["--job-name=with-ipus", "--gres=vipu:pod64:2", "bash", "-c", SHOW];
        let running = login.host().command("srun").args(&srun).as_user().start()?;
        let job = cluster.await_job_named("with-ipus", LIMIT)?;
        Shown::parse(&running.success(LIMIT)?.stdout)?.check(&partition(job), 2)
    })
}

/// Runs all commands on `login`, and wants each to work, or to fail with the words that `missing` gives for it.
fn check(
    cluster: &Cluster,
    login: &SpareLogin,
    plugstack: &str,
    missing: impl Fn(&str, Series) -> Option<&'static str>,
) -> Result<()> {
    let selector = if login.plugin("select_vipu.so").exists() { "with" } else { "without" };
    println!(
        "Slurm {}, {selector} select_vipu.so, {plugstack} spank_ipuof.so in plugstack.conf:",
        cluster.slurm()
    );
    for (words, last) in COMMANDS {
        let output = login.host().command(words[0]).args(&words[1..]).as_user().output()?;
        println!("  {}: {} {}", words.join(" "), output.code, output.stderr.trim().replace('\n', "\n    "));
        match missing(words[0], last) {
            None => ensure!(output.code == 0, "{words:?}: {output:?}"),
            Some(what) => ensure!(output.code != 0 && output.stderr.contains(what), "{words:?}: {output:?}"),
        }
    }
    Ok(())
}
