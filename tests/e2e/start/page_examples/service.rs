//! The service of docs/services.md: it starts, heals, grows, shrinks and ends as the page says.

use std::{collections::BTreeSet, fs};

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, wait_until};

use super::{Example, install, site};
use crate::LIMIT;

const PAGE: &str = include_str!("../../../../docs/services.md");
const SCRIPT: &str = include_str!("../../../../packages/site/service/service.sh");

/// A server that ends in order when it is told to, and that fails when a file says so.
const SERVER: &str = r#"#!/bin/bash
index=$SLURM_ARRAY_TASK_ID
[ "$*" = "serve.py --port=$((8000 + index))" ] && [ -r "$IPUOF_CONFIG_PATH" ] || exit 3
trap 'touch "stopped-$index"; exit 0' TERM
touch "serving-$index"
until [ -e "crash-$index" ]; do sleep 1; done
exit 1
"#;

/// The page's script waits by this program. With the file `slow`, the wait before a renewal has no end.
const SLEEP: &str = r#"#!/bin/bash
if [ -e slow ] && [ "$1" -ge 240 ]; then
    touch "renewing-$SLURM_ARRAY_TASK_ID"
    exec /bin/sleep 600
fi
exec /bin/sleep 0.1
"#;

const CURL: &str = "#!/bin/bash\n[ ! -e \"sick-$SLURM_ARRAY_TASK_ID\" ]\n";

/// Plays the example with this heading.
fn play(cluster: &Cluster, heading: &str) -> Result<String> {
    let examples = Example::all(PAGE)?;
    let example = examples.iter().find(|example| example.heading == heading);
    example.with_context(|| format!("no example '{heading}'"))?.play(cluster).context(heading.to_owned())
}

/// The indices of the tasks in this state.
fn tasks(cluster: &Cluster, state: &str) -> Result<BTreeSet<u32>> {
    let list = cluster.command("squeue").args(&["-h", "-r", "-t", state, "-o", "%K"]).success()?.stdout;
    Ok(list.lines().filter_map(|index| index.trim().parse().ok()).collect())
}

fn wrote(cluster: &Cluster, what: &str, index: u32) -> bool {
    cluster.layout().jobs().join(format!("{what}-{index}")).exists()
}

/// Waits until these tasks run, and their servers have begun.
fn run_are<const N: usize>(cluster: &Cluster, wanted: [u32; N]) -> Result<()> {
    let set = BTreeSet::from(wanted);
    wait_until(&format!("{wanted:?} to run"), LIMIT, || {
        Ok(tasks(cluster, "RUNNING")? == set && wanted.iter().all(|task| wrote(cluster, "serving", *task)))
    })
}

/// Waits until the servers of these tasks have ended in order.
fn stopped<const N: usize>(cluster: &Cluster, wanted: [u32; N]) -> Result<()> {
    let are_stopped = || wanted.iter().all(|task| wrote(cluster, "stopped", *task));
    wait_until(&format!("the servers of {wanted:?} to end in order"), LIMIT, || Ok(are_stopped()))
}

/// Waits until the task waits for its next run.
fn waits_again(cluster: &Cluster, index: u32) -> Result<()> {
    wait_until(&format!("task {index} to wait"), LIMIT, || Ok(tasks(cluster, "PENDING")?.contains(&index)))
}

#[test]
fn user_service_of_the_page_heals_grows_and_shrinks() -> Result<()> {
    ensure!(PAGE.contains(SCRIPT), "the page and packages/site/service/service.sh differ");
    site().cpus(16).slurm_conf("FirstJobId=42").run(|cluster| {
        install(cluster, &[("python3", SERVER), ("sleep", SLEEP), ("curl", CURL)])?;
        let told = |name: &str| fs::write(cluster.layout().jobs().join(name), "");

        fs::write(cluster.layout().jobs().join("service.sh"), SCRIPT)?;
        play(cluster, "Start it")?;
        run_are(cluster, [0, 1, 2, 3])?;
        let places = play(cluster, "Find the instances")?;
        let ports: BTreeSet<_> = places.lines().filter_map(|line| line.split(':').nth(1)).collect();
        ensure!(
            ports == ["8000", "8001", "8002", "8003"].into() && places.starts_with("ipu-pod64-00"),
            "{places}"
        );

        told("crash-0")?;
        run_are(cluster, [1, 2, 3, 4])?;
        told("sick-1")?;
        run_are(cluster, [2, 3, 4, 5])?;
        for index in [0, 1] {
            waits_again(cluster, index)?;
        }
        ensure!(
            ![0, 1].into_iter().any(|task| wrote(cluster, "stopped", task)),
            "a failed server was told to end"
        );

        play(cluster, "Replace one")?;
        run_are(cluster, [3, 4, 5, 6])?;
        waits_again(cluster, 2)?;
        stopped(cluster, [2])?;

        // Slurm looks for the end of time limits every half minute.
        cluster.scontrol(&["update", "JobId=42_3", "TimeLimit=60"])?;
        run_are(cluster, [4, 5, 6, 7])?;
        waits_again(cluster, 3)?;
        stopped(cluster, [3])?;

        play(cluster, "More instances")?;
        run_are(cluster, [4, 5, 6, 7, 8, 9])?;
        play(cluster, "Fewer instances")?;
        run_are(cluster, [6, 7])?;
        stopped(cluster, [4, 5, 8, 9])?;

        told("slow")?;
        cluster.scontrol(&["update", "JobId=42_6", "TimeLimit=60"])?;
        wait_until("task 6 to wait for its renewal", LIMIT, || Ok(wrote(cluster, "renewing", 6)))?;
        play(cluster, "End it")?;
        wait_until("the end of the service", LIMIT, || Ok(cluster.jobs()?.iter().all(|job| job.is_over())))?;
        wait_until("the end of its partitions", LIMIT, || Ok(cluster.mock().partitions()?.is_empty()))
    })
}
