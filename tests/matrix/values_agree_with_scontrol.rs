//! The values that the plugin reads from a job record and writes into it agree with Slurm's own commands.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use mock_vipu::{Effect, Fault, PartitionRecord, Rpc};
use testbed::{
    Account, JobId, JobRecord,
    compose::{Cluster, USER},
    main_job::partition_name,
    wait_for,
};
use vipu_client::Call;

use crate::{LIMIT, partition, slow};

/// The controller's text when it refuses a create.
const REFUSAL: &str = "alice may have no more";

#[test]
fn matrix_values_agree_with_scontrol() -> Result<()> {
    slow(2).expect_log(REFUSAL).run_in_containers(|cluster| {
        let quiet = cluster.sbatch("true", &["--gres=vipu:pod64:1"])?;
        cluster.await_end(quiet, LIMIT)?;
        cluster.scontrol(&["setdebug", "debug"])?;

        let script = "env | grep ^SLURM_VIPU_JOB_\nsleep 1000";
        let request = ["--time=10", "-N2", "--requeue", "--gres=vipu:pod64:16", "--ipu-gcds=1"];
        hold_creates(cluster)?;
        let job = cluster.sbatch(script, &request)?;
        first_run(cluster, job)?;
        reason(cluster)?;
        second_run(cluster, job)?;
        refusal(cluster)?;
        // The plugin logs debug lines only after the level was set to debug.
        let log = cluster.slurmctld_log()?;
        ensure!(
            !log.contains(&begins(quiet)) && log.contains(&begins(job)),
            "debug lines: {}",
            begins(quiet)
        );
        Ok(())
    })
}

/// Keeps jobs in CF. Slurm sets the end of a job anew when it is launched.
fn hold_creates(cluster: &Cluster) -> Result<()> {
    cluster.mock().inject(Fault::new(Effect::HeldReply { rpc: Some(Rpc(Call::CreatePartition)) }))
}

/// Checks id, user, request and times, and the grant in the job.
fn first_run(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.await_state(job, "CONFIGURING", LIMIT)?;
    agree(cluster, job, 0)?;
    cluster.mock().clear()?;
    cluster.await_state(job, "RUNNING", LIMIT)?;
    let grant = wait_for("the job to show its grant", LIMIT, || {
        Ok(cluster.job_output(job).lines().next().map(str::to_owned))
    })?;
    let partition = partition(job);
    ensure!(grant == format!("SLURM_VIPU_JOB_{job}={partition},pod64,16,1,vipu:8090"), "{grant}");
    has_ipus(&cluster.mock().record(&partition)?, 16)?;
    // The plugin gave the file to the user that scontrol names.
    let user = uid(cluster.job_record(job)?.get("UserId")?)?.to_owned();
    let file = format!("/ipuof/{partition}.conf");
    let (login, root) = (cluster.host("login")?, Account::root()?);
    let read = |user: &str| {
        let cat = ["--reuid", user, "--clear-groups", "cat", &file];
        let setpriv = login.command("setpriv", &root).args(&cat).output()?;
        Ok::<_, anyhow::Error>(setpriv.code == 0)
    };
    ensure!(read(&user)?, "{file} cannot be read by {user}");
    let kept_to_users = !cluster.slurmctld_log()?.contains("has no POSIX ACLs");
    ensure!(!kept_to_users || !read("65534")?, "{file} can be read by nobody");
    Ok(())
}

/// Checks the reason of a waiting job in squeue and in scontrol.
fn reason(cluster: &Cluster) -> Result<()> {
    let waiting = cluster.sbatch("true", &["--gres=vipu:pod64:64"])?;
    let reason = "vipu: 64 IPUs of pod64 needed";
    let shown = |text: &str| text.replace('_', " ").trim() == reason;
    cluster.await_job(waiting, "to say why it waits", LIMIT, |job| shown(&job.reason))?;
    let squeue = cluster.command("squeue").args(&["-h", "-o", "%r", "-j", &waiting.to_string()]).success()?;
    ensure!(shown(&squeue.stdout), "squeue shows {}", squeue.stdout);
    cluster.command("scancel").args(&[&waiting.to_string()]).success()?;
    cluster.await_end(waiting, LIMIT).map(drop)
}

/// Checks the restart count and the times of the second run.
fn second_run(cluster: &Cluster, job: JobId) -> Result<()> {
    hold_creates(cluster)?;
    cluster.scontrol(&["requeue", &job.to_string()])?;
    cluster.await_job(job, "to wait again", LIMIT, |job| job.state == "PENDING" && job.restarts == 1)?;
    cluster.scontrol(&["update", &format!("JobId={job}"), "StartTime=now"])?;
    cluster.await_state(job, "CONFIGURING", LIMIT)?;
    agree(cluster, job, 1)?;
    cluster.mock().clear()?;
    cluster.await_state(job, "RUNNING", LIMIT)?;
    has_ipus(&cluster.mock().record(&partition_name(job, 1))?, 16)?;
    cluster.command("scancel").args(&[&job.to_string()]).success()?;
    cluster.await_end(job, LIMIT).map(drop)
}

/// Checks that SystemComment and slurmctld's log have the text of the controller's refusal, and the reason says that the
/// job is held.
fn refusal(cluster: &Cluster) -> Result<()> {
    let fault = format!(
        r#"{{"effect": {{"reject": {{"rpc": "CreatePartition", "code": "PERMISSION_DENIED", "text": "{REFUSAL}"}}}}}}"#
    );
    cluster.mock().inject(serde_json::from_str::<Fault>(&fault)?)?;
    let job = cluster.sbatch("true", &["--gres=vipu:pod64:1"])?;
    let refused =
        cluster.await_job(job, "to be held", LIMIT, |job| job.system_comment.contains("scontrol release"))?;
    let reason = refused.reason.replace('_', " ");
    let is_held = reason == "vipu: held - no partition was made";
    let command = format!(", then: scontrol release {job}");
    ensure!(is_held && refused.system_comment.ends_with(&command), "{refused:?}");
    let logged = format!("job {job}: requeued and held ({})", refused.system_comment);
    ensure!(cluster.slurmctld_log()?.contains(&logged), "not in the log: {logged}");
    Ok(())
}

/// Checks that the values that the plugin read at the beginning of a run equal scontrol's values while the
/// job is CONFIGURING.
fn agree(cluster: &Cluster, job: JobId, restart: u16) -> Result<()> {
    let shown = cluster.job_record(job)?;
    let line = wait_for(&format!("slurmctld to log run {restart} of job {job}"), LIMIT, || {
        let log = cluster.slurmctld_log()?;
        let count = format!("restart={restart}");
        let mut lines = log.lines().filter(|line| line.contains(&begins(job)));
        Ok(lines.find(|line| line.contains(&count)).map(str::to_owned))
    })?;
    let (_, values) = line.split_once(&begins(job)).context("no values")?;
    let read: BTreeMap<_, _> = values.split(' ').filter_map(|value| value.split_once('=')).collect();
    let wanted = expected(&shown)?;
    let wanted: BTreeMap<_, _> = wanted.iter().map(|(name, value)| (*name, value.as_str())).collect();
    println!("{} read {read:?}", begins(job));
    ensure!(read == wanted, "the plugin read {read:?}, scontrol shows {wanted:?}");
    let user = shown.get("UserId")?;
    ensure!(user == format!("{USER}({})", uid(user)?) && shown.get("JobId")? == job.to_string(), "{shown:?}");
    Ok(())
}

/// The values that the plugin must have read, from scontrol's record.
fn expected(shown: &JobRecord) -> Result<[(&'static str, String); 5]> {
    Ok([
        ("user", uid(shown.get("UserId")?)?.to_owned()),
        ("tres", format!("{:?}", shown.get("TresPerNode")?)),
        ("restart", shown.get("Restarts")?.to_owned()),
        ("start", shown.get("StartTime")?.to_owned()),
        ("end", shown.get("EndTime")?.to_owned()),
    ])
}

/// The number in `alice(1000)`.
fn uid(user: &str) -> Result<&str> {
    let number = user.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    number.with_context(|| format!("'{user}' has no number"))
}

/// The beginning of the plugin's debug line.
fn begins(job: JobId) -> String {
    format!("select/vipu: job {job} begins ")
}

fn has_ipus(record: &PartitionRecord, ipus: usize) -> Result<()> {
    ensure!(record.ipus().len() == ipus, "{record:?}");
    Ok(())
}
