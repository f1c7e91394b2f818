//! Slurm's accounting, with slurmdbd and MariaDB.

mod counts;
mod job_test_cost;
mod licenses;
mod limits;
mod page;
mod preemption;
mod restarts;
mod slurmdbd;
mod sreport_sums;
mod steps;
mod svipu_limits;

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, ensure};
use testbed::{Cluster, JobId, Settings, wait_until};

pub(crate) use restarts::save_usage;

use crate::{LIMIT, quick};

/// The two TRES of the IPUs of a pod64.
const OF_IPUS: [&str; 2] = ["gres/vipu", "gres/vipu:pod64"];

/// A cluster with slurmdbd, where only users with an association may submit jobs.
fn enforcing() -> Settings {
    quick().cpus(16).accounting().slurm_conf("AccountingStorageEnforce=associations,limits,qos")
}

/// Lets root use these QOS, in the account root, which each database has. The first is the default.
fn add_root(cluster: &Cluster, qos: &[&str]) -> Result<()> {
    wait_until("slurmctld to register with slurmdbd", LIMIT, || {
        let shown = cluster.command("sacctmgr").args(&["-nP", "show", "cluster", "format=ControlPort"]);
        Ok(shown.success()?.stdout.trim().parse().is_ok_and(|port: u16| port != 0))
    })?;
    for name in qos.iter().filter(|name| **name != "normal") {
        sacctmgr(cluster, &["add", "qos", name])?;
    }
    let (all, first) = (format!("qos={}", qos.join(",")), format!("defaultqos={}", qos[0]));
    // Slurm does not show the QOS of an association, but its MaxWall, in minutes. A change that comes while
    // slurmctld starts can be lost, and only another change is sent.
    let mut minutes = 9_000;
    wait_until("the association in slurmctld", LIMIT, || {
        minutes += 1;
        sacctmgr(cluster, &["modify", "user", "root", "set", &all, &first, &format!("MaxWall={minutes}")])?;
        let shown = cluster.scontrol(&["show", "assoc_mgr", "flags=assoc", "users=root"])?;
        Ok(shown.contains("MaxWallPJ=9"))
    })
}

fn sacctmgr(cluster: &Cluster, args: &[&str]) -> Result<()> {
    cluster.command("sacctmgr").args(&["-i"]).args(args).success().map(drop)
}

/// Sets a limit of a QOS, and waits until slurmctld knows it. Slurm shows most limits of a QOS only once it is in
/// use, but MaxWall always.
fn limit(cluster: &Cluster, qos: &str, limit: &str) -> Result<()> {
    static MINUTES: AtomicU32 = AtomicU32::new(10_000);
    let minutes = MINUTES.fetch_add(1, Ordering::Relaxed);
    sacctmgr(cluster, &["modify", "qos", qos, "set", limit, &format!("MaxWall={minutes}")])?;
    wait_until(&format!("{limit} in slurmctld"), LIMIT, || {
        let shown = cluster.scontrol(&["show", "assoc_mgr", "flags=qos", &format!("qos={qos}")])?;
        Ok(shown.contains(&format!("MaxWallPJ={minutes}")))
    })
}

/// The number in use of both TRES of IPUs, in `GrpTRES` of a QOS.
fn used(cluster: &Cluster, qos: &str) -> Result<[u64; 2]> {
    let shown = cluster.scontrol(&["show", "assoc_mgr", "flags=qos", &format!("qos={qos}")])?;
    let of = |tres: &str| {
        let line = shown.lines().find_map(|line| line.trim().strip_prefix("GrpTRES="));
        let own = line?.split(',').find_map(|one| one.strip_prefix(&format!("{tres}=")))?;
        own.split(['(', ')']).nth(1)?.parse().ok()
    };
    let used = OF_IPUS.map(of);
    ensure!(used.iter().all(Option::is_some), "no use of IPUs in {shown}");
    Ok(used.map(Option::unwrap_or_default))
}

fn uses(cluster: &Cluster, qos: &str, ipus: u64) -> Result<()> {
    let used = used(cluster, qos)?;
    let shown = || cluster.scontrol(&["show", "assoc_mgr", "flags=qos", &format!("qos={qos}")]);
    ensure!(used == [ipus; 2], "QOS {qos} uses {used:?} of {OF_IPUS:?}, not {ipus}: {}", shown()?);
    Ok(())
}

/// Waits until this number of IPUs is in use.
fn will_use(cluster: &Cluster, qos: &str, ipus: u64) -> Result<()> {
    let waited = wait_until(&format!("{ipus} IPUs in use"), LIMIT, || Ok(used(cluster, qos)? == [ipus; 2]));
    // The error says how many there are.
    waited.or_else(|_| uses(cluster, qos, ipus))
}

/// The IPUs in a list of TRES, of both kinds.
fn ipus_in(tres: &str) -> [Option<&str>; 2] {
    OF_IPUS.map(|name| tres.split(',').find_map(|one| one.strip_prefix(&format!("{name}="))))
}

/// Checks the IPUs of a job that has nodes, as squeue shows them.
fn shows(cluster: &Cluster, job: JobId, ipus: u32) -> Result<()> {
    let id = job.to_string();
    let list =
        cluster.command("squeue").args(&["-hj", &id, "-O", "jobid:20,tres-alloc:200"]).success()?.stdout;
    let ipus = ipus.to_string();
    // For the leader of a heterogeneous job, squeue shows all components, in any order.
    let mut lines = list.lines().filter_map(|line| line.split_once(' ')).filter(|(of, _)| *of == id);
    let shown = lines.next().map(|(_, tres)| ipus_in(tres.trim()));
    ensure!(shown == Some([Some(ipus.as_str()); 2]), "job {job}: {list}");
    Ok(())
}

/// The lines of sacct for a job and its steps in the database, with these fields, once the job has ended.
fn recorded(cluster: &Cluster, job: JobId, fields: &str) -> Result<Vec<Vec<String>>> {
    let fields = format!("State,End,{fields}");
    let sacct = || {
        let args = ["-nP", "-j", &job.to_string(), "-o", &fields];
        Ok::<_, anyhow::Error>(cluster.command("sacct").args(&args).success()?.stdout)
    };
    let has_ended = |text: &str| {
        !text.is_empty()
            && !text.lines().any(|line| line.starts_with("RUNNING") || line.contains("|Unknown|"))
    };
    wait_until(&format!("the end of job {job} in the database"), LIMIT, || Ok(has_ended(&sacct()?)))?;
    let line = |line: &str| line.split('|').skip(2).map(str::to_owned).collect();
    Ok(sacct()?.lines().map(line).collect())
}

/// Checks the IPUs of a job in the database, requested and allocated, and that none of its steps has any.
fn was_recorded(cluster: &Cluster, job: JobId, ipus: u32) -> Result<()> {
    let mut lines = Vec::new();
    // After a restart slurmctld can send the end of a job before its request.
    wait_until(&format!("the request of job {job} in the database"), LIMIT, || {
        lines = recorded(cluster, job, "JobID,ReqTRES,AllocTRES")?;
        Ok(lines.iter().all(|line| line[0].contains('.') || !line[1].is_empty()))
    })?;
    let ipus = ipus.to_string();
    for line in &lines {
        let [id, requested, allocated] = &line[..] else { anyhow::bail!("{line:?}") };
        if id.contains('.') {
            let of_step = ipus_in(allocated);
            ensure!(of_step.iter().all(|ipus| ipus.is_none_or(|ipus| ipus == "0")), "step {id}: {allocated}");
        } else {
            let both = [ipus_in(requested), ipus_in(allocated)];
            ensure!(
                both == [[Some(ipus.as_str()); 2]; 2],
                "job {id}: {requested} {allocated}, not {ipus} IPUs"
            );
        }
    }
    ensure!(!lines.is_empty(), "sacct knows no job {job}");
    Ok(())
}
