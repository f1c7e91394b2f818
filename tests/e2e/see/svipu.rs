//! svipu on a real cluster.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use testbed::{Cluster, programs, wait_until};

use super::svipu;
use crate::jobs::{ipus, now, running, waits};
use crate::{LIMIT, let_go, quick};

/// The number of calls that slurmctld has answered with jobs, nodes or Slurm partitions.
fn calls_for_information(cluster: &Cluster) -> Result<u64> {
    let text = cluster.command("sdiag").success()?.stdout;
    let of_type = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let is_asked = name.starts_with("REQUEST_") && name.contains("_INFO") && !name.contains("STATS");
        let count = words.find_map(|word| word.strip_prefix("count:"))?;
        is_asked.then(|| count.parse::<u64>().ok())?
    };
    Ok(text.lines().filter_map(of_type).sum())
}

#[test]
fn cli_svipu_answers_without_a_call_to_slurmctld() -> Result<()> {
    quick().run(|cluster| {
        let first = running(cluster, 32, &[])?;
        let second = ipus(cluster, 64, 60, &[])?;
        waits(cluster, second, "vipu: 64 IPUs of pod64 needed, 32 free, largest block 32")?;
        wait_until("the jobs in svipu", LIMIT, || {
            let partitions = svipu(cluster, &["partitions", "--noheader", "-o", "job,state"])?;
            let queue = svipu(cluster, &["queue", "--noheader", "-o", "job"])?;
            let words: Vec<_> = partitions.split_whitespace().collect();
            Ok(words == [first.to_string().as_str(), "running"] && queue.trim() == second.to_string())
        })?;
        // squeue makes the counter go up: the names of the calls are right.
        let before_squeue = calls_for_information(cluster)?;
        cluster.command("squeue").success()?;
        let before = calls_for_information(cluster)?;
        ensure!(before > before_squeue, "sdiag counts no call of squeue");
        let second = second.to_string();
        for args in [&["status"][..], &["map"], &["queue"], &["plan"], &["why", &second], &["user", "root"]] {
            svipu(cluster, args)?;
        }
        let after = calls_for_information(cluster)?;
        ensure!(after == before, "svipu made {} calls", after - before);
        let_go(cluster)
    })
}

#[test]
fn cli_svipu_knows_jobs_that_wait_for_something_else() -> Result<()> {
    quick().run(|cluster| {
        let first = running(cluster, 16, &[])?;
        let after = format!("--dependency=afterok:{first}");
        let options: [&[&str]; 3] = [&["--hold"], &[&after], &["--begin=now+3600"]];
        let submit = |option: &&[&str]| cluster.sbatch("true", &[&["--ipus=16"], *option].concat());
        let jobs = options.iter().map(submit).collect::<Result<Vec<_>>>()?;
        let jobs: Vec<_> = jobs.iter().map(ToString::to_string).collect();
        for (job, reason) in jobs.iter().zip(["JobHeldUser", "Dependency", "BeginTime"]) {
            wait_until(&format!("{reason} in svipu why"), LIMIT, || {
                let why = cluster.command(&programs::find("svipu")?.to_string_lossy()).args(&["why", job]);
                Ok(why.output()?.stdout.contains(&format!("The reason at Slurm's last look: {reason}\n")))
            })?;
            let shown = cluster.command("squeue").args(&["-h", "-j", job, "-o", "%r"]).success()?.stdout;
            ensure!(shown.trim() == reason, "{shown}");
        }
        cluster.command("scancel").args(&jobs.iter().map(String::as_str).collect::<Vec<_>>()).success()?;
        wait_until("the end of the jobs in svipu", LIMIT, || {
            let json: Value = serde_json::from_str(&svipu(cluster, &["--json"])?)?;
            Ok(json["not_in_line"].as_array().is_some_and(Vec::is_empty))
        })?;
        let_go(cluster)
    })
}

#[test]
fn cli_svipu_hostfile_names_the_nodes_of_the_job() -> Result<()> {
    quick().nodes(2).run(|cluster| {
        let svipu = programs::find("svipu")?;
        let svipu = svipu.display();
        let script = format!(
            "{svipu} hostfile > hosts && scontrol show hostnames | sed 's/$/ slots=2/' > expected\n\
             srun {svipu} hostfile --slots=2 > hosts-of-steps\n\
             touch written; while [ ! -e go ]; do sleep 0.2; done"
        );
        cluster.sbatch(&script, &["-N2", "--ntasks-per-node=2", "--gres=vipu:pod64:16"])?;
        let folder = cluster.layout().jobs();
        wait_until("the host file", LIMIT, || Ok(folder.join("written").exists()))?;
        let read = |name: &str| fs::read_to_string(folder.join(name));
        let expected = read("expected")?;
        ensure!(
            expected.lines().count() == 2 && read("hosts")? == expected,
            "{}, {expected}",
            read("hosts")?
        );
        ensure!(read("hosts-of-steps")? == expected.repeat(4), "{}", read("hosts-of-steps")?);
        let_go(cluster)
    })
}

#[test]
fn cli_svipu_tells_the_history_of_a_job() -> Result<()> {
    let settings = quick().create_time(Duration::from_millis(1200)).remove_time(Duration::from_millis(800));
    settings.run(|cluster| {
        let submitted = now()?.as_secs();
        let job = running(cluster, 16, &[])?;
        let (id, state) = (job.to_string(), cluster.layout().state());
        let history = || -> Result<Value> {
            let document = state.to_string_lossy();
            let text = svipu(cluster, &["job", &id, "--json", "--status", &document])?;
            let json: Value = serde_json::from_str(&text)?;
            Ok(json["history"].clone())
        };
        wait_until("the ready partition in the history", LIMIT, || {
            Ok(history().is_ok_and(|it| it[0]["ready"].is_i64() && it[0]["removal"].is_null()))
        })?;
        let start = cluster.start_of(job)?.context("squeue shows no start")?;
        let_go(cluster)?;
        cluster.await_end(job, LIMIT)?;
        wait_until("the end of the partition in the history", LIMIT, || {
            Ok(history().is_ok_and(|it| it[0]["gone"].is_i64()))
        })?;
        let (ended, history) = (now()?.as_secs(), history()?);
        let log = std::fs::read_to_string(state.join("vipu_audit.jsonl"))?;
        ensure!(
            log.lines().all(|line| line.contains(&format!("\"job\":{job},"))),
            "a line without the job: {log}"
        );
        let record = cluster.mock().record(&format!("slurm_{job}"))?;
        let [one] = history.as_array().context("no history")?.as_slice() else {
            bail!("not one partition: {history}")
        };
        let time = |member: &str| one[member].as_u64().with_context(|| format!("{member}: {history}"));
        let seconds = |member: &str| one[member].as_f64().with_context(|| format!("{member}: {history}"));
        // Times are whole seconds.
        let times =
            [submitted, time("asked")? + 1, time("ready")? + 1, time("removal")? + 2, time("gone")? + 2];
        ensure!(times.is_sorted() && time("gone")? <= ended, "{times:?} {ended}");
        ensure!(start.abs_diff(time("asked")?) <= 2, "{start}: {history}");
        let made = record.active.map(|it| it.since(record.create_request)).context("never active")?;
        let removed = record.removed.zip(record.remove_request).map(|(to, from)| to.since(from));
        let removed = removed.context("not removed")?;
        for (member, least) in [("making", made), ("removing", removed)] {
            // A poll comes some time after the change.
            let (took, least) = (seconds(member)?, least.as_secs_f64());
            ensure!((least..least + 5.0).contains(&took), "{member}: {took} s, and by the mock {least} s");
        }
        ensure!(one["ipus"] == 16 && one["failures"] == Value::Array(Vec::new()), "{history}");
        let text = svipu(cluster, &["job", &id, "--status", &state.to_string_lossy()])?;
        ensure!(text.contains("Making and removing the partition took "), "{text}");
        Ok(())
    })
}
