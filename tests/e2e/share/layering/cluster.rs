//! The hardware of both clusters, and the settings that keep their schedulers independent of the clock.

use std::time::Duration;

use anyhow::Result;
use testbed::{Cluster, Settings};

use super::jobs::Limits;

/// The Slurm partitions for the jobs, down at first.
pub(super) const PARTITIONS: [&str; 5] = ["main", "gpu", "wide", "shared", "whole"];

/// The advance reservations that jobs ask for.
pub(super) const RESERVATIONS: [&str; 2] = ["now", "any"];

/// Nodes that differ in sockets, cores, threads, memory, features, weights and GPUs, for the selector to
/// choose by. All nodes see the Pod.
const NODES: &str = "\
    NodeName=DEFAULT State=CLOUD\n\
    NodeName=a[01-36] CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=32000 Feature=lake,ib \
        Gres=vipu:pod64:no_consume:64,gpu:tesla:4 Weight=3\n\
    NodeName=b[01-36] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=16000 Feature=rome,eth \
        Gres=vipu:pod64:no_consume:64\n\
    NodeName=c[01-18] CPUs=32 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=64000 Feature=rome,ib,big \
        Gres=vipu:pod64:no_consume:64,gpu:tesla:2,gpu:volta:2 Weight=7\n\
    PartitionName=DEFAULT State=DOWN DefMemPerCPU=500\n\
    PartitionName=main Nodes=a[01-36],b[01-36],c[01-18] Default=YES\n\
    PartitionName=gpu Nodes=a[13-36],c[01-18]\n\
    PartitionName=wide Nodes=b[19-36],c[01-18] PriorityTier=2\n\
    PartitionName=shared Nodes=b[01-18] OverSubscribe=FORCE:2\n\
    PartitionName=whole Nodes=a[01-08],c[13-18] OverSubscribe=EXCLUSIVE\n\
    NodeName=ipus[01-10] CPUs=8 RealMemory=16000 Gres=vipu:pod64:no_consume:64\n\
    PartitionName=ipus Nodes=ipus[01-10] State=UP\n\
    PartitionName=DEFAULT State=UP\n";

const TOPOLOGY: &str = "\
    SwitchName=s1 Nodes=a[01-18]\n\
    SwitchName=s2 Nodes=a[19-36]\n\
    SwitchName=s3 Nodes=b[01-36]\n\
    SwitchName=s4 Nodes=c[01-18]\n\
    SwitchName=s5 Nodes=sentinel,ipus[01-10]\n\
    SwitchName=top Switches=s[1-5]\n";

const GRES: &str = "\
    AutoDetect=off\n\
    NodeName=a[01-36] Name=gpu Type=tesla File=/dev/fake[0-3]\n\
    NodeName=c[01-18] Name=gpu Type=tesla File=/dev/fake[0-1]\n\
    NodeName=c[01-18] Name=gpu Type=volta File=/dev/fake[2-3]\n";

/// The selector of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selector {
    /// The stock selector.
    Stock,
    /// `select/vipu` over the stock selector.
    Layered,
}

/// The shortest interval of each scheduler. All Slurm partitions have to come up between two cycles of the
/// main scheduler. The main scheduler has to finish between two cycles of backfill.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) main: Duration,
    pub(super) backfill: Duration,
}

impl Pace {
    /// Returns the pace for this number of jobs, `patience` times as slow as an idle machine needs.
    pub(super) fn of(jobs: usize, patience: u64) -> Self {
        Self {
            main: Duration::from_secs(2 * patience),
            backfill: Duration::from_secs(patience * (10 + jobs as u64 / 100)),
        }
    }
}

/// A cluster with this selector, whose schedulers go through the whole queue each time.
pub(super) fn settings(selector: Selector, pace: Pace, limits: Limits) -> Settings {
    let (pause, interval) = (pace.main.as_secs(), pace.backfill.as_secs());
    let window = limits.window_minutes();
    let schedulers = format!(
        "SchedulerParameters=defer,batch_sched_delay={pause},default_queue_depth=1000000,max_sched_time=50,sched_interval=3600,\
         bf_interval={interval},bf_window={window},bf_max_job_test=1000000,bf_max_time=3600,bf_continue,\
         bf_yield_interval=10000000,max_switch_wait=8640000"
    );
    let settings = Cluster::settings()
        .cloud(NODES)
        .conf_file("topology.conf", TOPOLOGY)
        .conf_file("gres.conf", GRES)
        .slurm_conf("ClusterName=layering")
        .slurm_conf(&schedulers)
        .slurm_conf("SchedulerType=sched/backfill")
        .slurm_conf("PriorityType=priority/basic")
        .slurm_conf("SelectTypeParameters=CR_Core_Memory")
        .slurm_conf("TopologyPlugin=topology/tree")
        .slurm_conf("GresTypes=gpu,vipu")
        .slurm_conf("Licenses=tool:7,pod:1")
        .slurm_conf("AllowSpecResourcesUsage=yes")
        .slurm_conf("MaxJobCount=100000")
        // Without this flag, 26.05 does not log the jobs that backfill starts.
        .slurm_conf("DebugFlags=HetJob")
        // The outcomes compare the errors instead.
        .expect_log(" error: ");
    match selector {
        Selector::Stock => settings.without_plugin(),
        Selector::Layered => settings,
    }
}

/// Makes the advance reservations. The last one begins `begin` seconds since 1970: at no time when jobs are
/// started, and between the ends of any two jobs.
pub(super) fn reserve(cluster: &Cluster, begin: u64) -> Result<()> {
    let common = ["create", "reservation", "Users=root", "Duration=60-0"];
    let later = format!("StartTime=uts{begin}");
    let reservations: [&[&str]; 3] = [
        &["ReservationName=now", "StartTime=now", "Nodes=a01,b01,b02"],
        &["ReservationName=any", "StartTime=now", "NodeCnt=3", "PartitionName=wide"],
        &["ReservationName=later", &later, "Nodes=a[07-12],b[33-36],c[01-03]"],
    ];
    for own in reservations {
        let words: Vec<_> = common.iter().chain(own).copied().collect();
        cluster.scontrol(&words)?;
    }
    Ok(())
}
