//! Hosts with IPUs of their own (`Mode=host`): a job gets whole nodes, and exactly their IPUs.

use anyhow::{Context, Result, ensure};
use mock_vipu::Incident;
use testbed::{Cluster, JobId, Settings};

use crate::jobs::{
    brisk, cancel, expected_at, ipus, let_go, logged, partition, restart_slurmctld, running_for, runs,
    submit, waits,
};

/// Four nodes with 16 IPUs each. Those of the second and the third are exchanged.
const MAP: &str = "\
# node          IPUs   agents
ipu-pod64-001   0-15   ag1,ag2,ag3,ag4
ipu-pod64-003   16-31  ag5,ag6,ag7,ag8
ipu-pod64-002   32-47  ag9,ag10,ag11,ag12
ipu-pod64-004   48-63  ag13,ag14,ag15,ag16
";

const MODE: &str = "Mode=host HostMap=hosts.map Cluster=pod64";

fn hosts() -> Settings {
    brisk().nodes(4).cpus(4).vipu_conf(MODE).conf_file("hosts.map", MAP)
}

/// Checks that a job runs on these nodes, alone, and has the IPUs from `first` on.
fn has(cluster: &Cluster, job: JobId, nodes: &str, first: u32, size: u32) -> Result<()> {
    let found = cluster.job(job)?.nodes;
    ensure!(found == format!("ipu-pod64-{nodes}"), "job {job} runs on {found}");
    let record = cluster.mock().record(&partition(job))?;
    let ipus = &record.tenures.last().context("no IPUs")?.ipus;
    ensure!(ipus.iter().copied().eq(first..first + size), "job {job} has {ipus:?}");
    Ok(())
}

#[test]
fn mode_host_gives_each_job_the_ipus_of_its_nodes() -> Result<()> {
    hosts().run(|cluster| {
        let first = running_for(cluster, 16, 60, &["--nodelist=ipu-pod64-003"])?;
        has(cluster, first, "003", 16, 16)?;
        // Nodes 1 and 3 have the lower 32 IPUs.
        let second = running_for(cluster, 32, 60, &[])?;
        has(cluster, second, "[002,004]", 32, 32)?;
        let third = ipus(cluster, 32, 60, &["--nodes=2"])?;
        expected_at(cluster, third, cluster.end_of(first)? + 1)?;
        // It takes no node of the plan for longer.
        let fourth = submit(cluster, &["--gres=vipu:pod64", "--time=30"])?;
        runs(cluster, fourth)?;
        has(cluster, fourth, "001", 0, 16)?;
        restart_slurmctld(cluster)?;
        let_go(cluster, fourth)?;
        let_go(cluster, first)?;
        runs(cluster, third)?;
        has(cluster, third, "[001,003]", 0, 32)?;
        let_go(cluster, second)?;
        let_go(cluster, third)?;
        // The number of nodes is that of IPUs.
        let all = submit(cluster, &["--gres=vipu:pod64", "--time=60", "--nodes=4"])?;
        runs(cluster, all)?;
        has(cluster, all, "[001-004]", 0, 64)?;
        // Its nodes have room for no other job, and it takes no node that another job has.
        let plain = submit(cluster, &["--time=1"])?;
        waits(cluster, plain, "Resources")?;
        let_go(cluster, all)?;
        runs(cluster, plain)?;
        let beside = ipus(cluster, 64, 60, &[])?;
        waits(cluster, beside, "Resources")?;
        let_go(cluster, plain)?;
        runs(cluster, beside)?;
        let_go(cluster, beside)
    })
}

#[test]
fn mode_host_with_broken_ipus_gets_no_jobs() -> Result<()> {
    let settings = hosts().expect_log("no IPU job of model pod64 can start on");
    settings.run(|cluster| {
        cluster.mock().cause(Incident::IpuFault { agent: "ag2".into(), ipu: 1 })?;
        let foreign = Incident::Foreign { id: "other".into(), size: 4, first: Some(20) };
        cluster.mock().cause(foreign)?;
        cluster.reconfigure()?;
        let fault = "can start on ipu-pod64-001: IPU 1 of agent ag2: hardware error";
        logged(cluster, fault)?;
        // From 23.11 on, the nodes answer a new slurmctld.
        cluster.await_slurmctld()?;
        // Node 1 is broken, somebody has IPUs of node 3.
        let first = running_for(cluster, 16, 60, &[])?;
        has(cluster, first, "002", 32, 16)?;
        let second = running_for(cluster, 16, 60, &[])?;
        has(cluster, second, "004", 48, 16)?;
        let third = ipus(cluster, 16, 60, &[])?;
        waits(cluster, third, "vipu: 16 IPUs of pod64 needed")?;
        expected_at(cluster, third, cluster.end_of(first)?.min(cluster.end_of(second)?) + 1)?;
        cluster.mock().cause(Incident::Vanish { partition: "other".into() })?;
        runs(cluster, third)?;
        has(cluster, third, "003", 16, 16)?;
        cancel(cluster, first)
    })
}
