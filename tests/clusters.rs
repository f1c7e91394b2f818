//! The testbed itself, on stock Slurm.
#![forbid(unsafe_code)]

use std::{
    env, fs,
    io::Write as _,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Result, ensure};
use testbed::{Account, Cluster, Settings, wait_for, wait_until};

const LIMIT: Duration = Duration::from_secs(30);

fn stock() -> Settings {
    Cluster::settings().without_plugin().nodes(2)
}

#[test]
fn jobs_of_all_kinds_run_on_a_stock_cluster() -> Result<()> {
    stock().run(|cluster| {
        let batch = cluster.sbatch("echo on $(hostname) as $(id -un)", &["-N2"])?;
        let srun = cluster.command("srun").args(&["-N2", "id", "-un"]).account(&Account::named("nobody")?);
        ensure!(srun.success()?.stdout == "nobody\nnobody\n");
        let salloc = cluster.command("salloc").args(&["-N1", "printenv", "SLURM_JOB_NODELIST"]).success()?;
        ensure!(salloc.stdout.starts_with("ipu-pod64-00"), "{salloc:?}");
        let ended = cluster.await_end(batch, LIMIT)?;
        ensure!(ended.state == "COMPLETED", "{ended:?}");
        ensure!(cluster.job_output(batch).contains("as root"));
        Ok(())
    })
}

#[test]
fn slurmctld_comes_back_with_its_jobs() -> Result<()> {
    stock().run(|cluster| {
        let job = cluster.sbatch("sleep 1000", &[])?;
        cluster.await_job(job, "to run", LIMIT, |job| job.state == "RUNNING")?;
        cluster.stop_slurmctld()?;
        cluster.start_slurmctld()?;
        ensure!(cluster.job(job)?.state == "RUNNING");
        Ok(())
    })
}

#[test]
fn a_backup_takes_over_with_the_jobs() -> Result<()> {
    stock().backup().run(|cluster| {
        let job = cluster.sbatch("sleep 1000", &[])?;
        cluster.await_job(job, "to run", LIMIT, |job| job.state == "RUNNING")?;
        let (primary, backup) = (cluster.slurmctld()?, cluster.backup()?);
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.await_takeover()?;
        ensure!(!primary.exists() && cluster.slurmctld()? == backup);
        ensure!(cluster.job(job)?.state == "RUNNING");
        Ok(())
    })
}

#[test]
fn backfill_runs_again_without_a_change() -> Result<()> {
    let settings = Cluster::settings().without_plugin().cloud("").expect_log("default partition not set");
    settings.slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        // The first cycles see the jobs that the testbed submitted. More cycles need a change.
        (0..5).try_for_each(|_| cluster.backfill_cycle(LIMIT).map(drop))
    })
}

#[test]
fn what_a_test_leaves_wrong_is_reported() -> Result<()> {
    let left = stock().run(|cluster| Ok(fs::write(cluster.layout().ipuof().join("slurm_1.conf"), "")?));
    let error = format!("{:#}", left.unwrap_err());
    ensure!(error.contains("file left in IpuofDir: slurm_1.conf"), "{error}");
    let log = stock().run(|cluster| cluster.kill_slurmctld());
    ensure!(format!("{:#}", log.unwrap_err()).contains("slurmctld was stopped"));
    Ok(())
}

#[test]
fn what_a_plugin_complains_of_on_a_node_is_reported() -> Result<()> {
    let complain = |cluster: &Cluster| {
        let log = cluster.layout().logs().join("ipu-pod64-002.log");
        let mut log = fs::OpenOptions::new().append(true).open(log)?;
        Ok(writeln!(log, "[1.0] error: select/vipu: planted")?)
    };
    let told = stock().run(complain).unwrap_err().to_string();
    ensure!(told.contains("a node's log: ipu-pod64-002: [1.0] error: select/vipu: planted"), "{told}");
    stock().expect_log("planted").run(complain)
}

#[test]
#[should_panic(expected = "dropped without finish")]
fn nobody_forgets_the_checks() {
    drop(stock().nodes(1).start().unwrap());
}

const VICTIM: &str = "TESTBED_VICTIM_REPORTS_TO";

#[test]
fn a_killed_test_leaves_no_process() -> Result<()> {
    if let Ok(report) = env::var(VICTIM) {
        return be_killed(Path::new(&report));
    }
    let dir = tempfile::tempdir()?;
    let report = dir.path().join("report");
    let mut victim = Command::new(env::current_exe()?)
        .args(["--exact", "a_killed_test_leaves_no_process"])
        .env(VICTIM, &report)
        .stdout(Stdio::null())
        .spawn()?;
    let root = wait_for("the victim's cluster", LIMIT, || {
        ensure!(victim.try_wait()?.is_none(), "the victim ended by itself");
        Ok(fs::read_to_string(&report).ok().filter(|root| !root.is_empty()))
    })?;
    // munged, slurmctld with its slurmscriptd, the job's step and script: all are there to be killed.
    ensure!(mentioning(&root).len() > 6, "{:?}", mentioning(&root));
    victim.kill()?;
    ensure!(victim.wait()?.signal() == Some(9));
    wait_until("every process of the dead test to end", LIMIT, || Ok(mentioning(&root).is_empty()))?;
    Ok(fs::remove_dir_all(root)?)
}

/// Starts a cluster with a job that tries to get away, and waits to be killed.
fn be_killed(report: &Path) -> Result<()> {
    let cluster = stock().start()?;
    let job = cluster.sbatch("setsid nohup sleep 1000 & sleep 1000", &[])?;
    cluster.await_job(job, "to run", LIMIT, |job| job.state == "RUNNING")?;
    wait_until("both sleeps", LIMIT, || {
        let root = cluster.layout().root().display().to_string();
        Ok(mentioning(&root).iter().filter(|command| command.starts_with("sleep")).count() >= 2)
    })?;
    fs::write(report, cluster.layout().root().display().to_string())?;
    loop {
        std::thread::park();
    }
}

/// The command lines of all processes that have `root` in their arguments or environment.
fn mentioning(root: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let texts = processes.filter_map(|process| {
        let read = |name: &str| -> Option<String> {
            let path: PathBuf = process.path().join(name);
            Some(String::from_utf8_lossy(&fs::read(path).ok()?).replace('\0', " "))
        };
        let (command, environment) = (read("cmdline")?, read("environ")?);
        (command.contains(root) || environment.contains(root)).then_some(command)
    });
    texts.collect()
}
