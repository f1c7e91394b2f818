//! What users see of limits and use in svipu.

use anyhow::{Context as _, Result, ensure};
use testbed::{Cluster, Output, programs, wait_until};

use super::{add_root, enforcing, limit, sacctmgr};
use crate::LIMIT;
use crate::jobs::{cancel, ipus, let_go, running, waits};

fn svipu(cluster: &Cluster, args: &[&str]) -> Result<Output> {
    cluster.command(&programs::find("svipu")?.to_string_lossy()).args(args).output()
}

/// The words of each line of `svipu limits`.
fn limits(cluster: &Cluster, columns: &str) -> Result<Vec<String>> {
    let Output { code, stdout, stderr, .. } = svipu(cluster, &["limits", "--noheader", "-o", columns])?;
    ensure!(code == 0, "{stderr}");
    Ok(stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect())
}

/// The requests about limits that slurmctld has answered.
fn requests(cluster: &Cluster) -> Result<u64> {
    let text = cluster.command("sdiag").success()?.stdout;
    let line = text.lines().find(|line| line.contains("REQUEST_ASSOC_MGR_INFO")).unwrap_or_default();
    let count = line.split_whitespace().find_map(|word| word.strip_prefix("count:")).context(text.clone())?;
    Ok(count.parse()?)
}

/// Checks that each `svipu limits` costs one request.
fn one_request_each(cluster: &Cluster) -> Result<()> {
    let before = requests(cluster)?;
    (0..5).try_for_each(|_| limits(cluster, "left").map(drop))?;
    // Slurm counts a request after its answer, so that an earlier one may come late.
    wait_until("five requests", LIMIT, || Ok((5..=6).contains(&(requests(cluster)? - before))))
}

#[test]
fn acct_svipu_shows_limits_and_use() -> Result<()> {
    enforcing().run(|cluster| {
        add_root(cluster, &["normal", "limited"])?;
        sacctmgr(cluster, &["modify", "account", "root", "set", "GrpTRES=gres/vipu:pod64=64"])?;
        limit(cluster, "limited", "MaxTRESPerUser=gres/vipu=32")?;
        let first = running(cluster, 16, &["-qlimited"])?;
        let shown = limits(cluster, "where,limit,tres,value,used,left")?;
        let expected = [
            "QOS limited MaxTRESPerUser gres/vipu 32 16 16",
            "account root GrpTRES gres/vipu:pod64 64 16 48",
        ];
        ensure!(shown == expected, "{shown:?}");
        one_request_each(cluster)?;

        let second = ipus(cluster, 32, 10, &["-qlimited"])?;
        waits(cluster, second, "QOSMaxGRESPerUser")?;
        wait_until("svipu limits in svipu why", LIMIT, || {
            Ok(svipu(cluster, &["why", &second.to_string()])?.stdout.contains("svipu limits root;"))
        })?;
        cancel(cluster, second)?;
        let_go(cluster, first)?;
        // Slurm takes the use of a job back a moment after its end.
        wait_until(
            "no use in svipu limits",
            LIMIT,
            || Ok(limits(cluster, "used,left")? == ["0 32", "0 64"]),
        )?;

        let unknown = svipu(cluster, &["limits", "nobody"])?;
        ensure!(unknown.code == 1 && unknown.stderr.contains("user nobody is unknown"), "{unknown:?}");
        cluster.stop_slurmctld()?;
        let away = svipu(cluster, &["limits"])?;
        ensure!(away.code == 1 && away.stderr.contains("Unable to contact slurm controller"), "{away:?}");
        cluster.start_slurmctld()
    })
}
