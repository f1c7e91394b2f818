//! Slurm makes the first job in line wait for something other than its turn. Others get the IPUs meanwhile.

use anyhow::Result;
use testbed::{Cluster, JobId, Settings};

use crate::jobs::{brisk, cancel, ipus, let_go, roomy, running_for, runs, submit, update, waits};

/// Something that a job waits for, with Slurm's reason for it.
struct Cause<'a> {
    /// Empty if Slurm gives none while the job waits for IPUs, too.
    reason: &'a str,
    /// The options of the job.
    options: &'a [&'a str],
    begin: &'a dyn Fn(JobId) -> Result<()>,
    end: &'a dyn Fn(JobId) -> Result<()>,
}

impl Cause<'_> {
    /// Both jobs ask for the whole Pod, and `other` would delay the first one.
    fn holds_nobody_back(&self, cluster: &Cluster) -> Result<()> {
        let full = "vipu: 64 IPUs of pod64 needed, 0 free";
        let on_first = ["--nodelist=ipu-pod64-001"];
        let holder = running_for(cluster, 64, 60, &on_first)?;
        let job = ipus(cluster, 64, 60, &[&["--priority=1000", "--partition=first"], self.options].concat())?;
        waits(cluster, job, full)?;
        let other = ipus(cluster, 64, 120, &[&["--priority=10"], &on_first[..]].concat())?;
        waits(cluster, other, full)?;
        (self.begin)(job)?;
        waits(cluster, job, self.reason)?;
        let_go(cluster, holder)?;
        runs(cluster, other)?;
        (self.end)(job)?;
        let_go(cluster, other)?;
        runs(cluster, job)?;
        let_go(cluster, job)
    }
}

fn two_nodes(settings: Settings) -> Settings {
    settings.nodes(2).slurm_conf("PartitionName=first Nodes=ALL")
}

#[test]
fn sched_plan_ends_with_another_reason_of_slurm() -> Result<()> {
    two_nodes(brisk()).run(|cluster| {
        // A running job without an end would be in the way of the reservation.
        let early = submit(cluster, &["--hold"])?;
        let later =
            "create reservation ReservationName=later Users=root StartTime=now+3hours Duration=60 Nodes=ALL";
        let scontrol = |line: &str| cluster.scontrol(&line.split(' ').collect::<Vec<_>>()).map(drop);
        scontrol(later)?;
        let cause = |reason, begin: &str, end: &str| {
            let told = |words: &str, job: JobId| match words {
                "hold" | "release" => scontrol(&format!("{words} {job}")),
                words if words.starts_with("PartitionName=") => scontrol(&format!("update {words}")),
                words => update(cluster, job, &[words]),
            };
            let (begin, end) = (|job| told(begin, job), |job| told(end, job));
            Cause { reason, options: &[], begin: &begin, end: &end }.holds_nobody_back(cluster)
        };
        cause("JobHeldAdmin", "hold", "release")?;
        cause("Dependency", &format!("Dependency=afterany:{early}"), "Dependency=")?;
        cause("BeginTime", "StartTime=now+1hour", "StartTime=now")?;
        cause("Reservation", "ReservationName=later", "ReservationName=")?;
        cause(
            "PartitionTimeLimit",
            "PartitionName=first MaxTime=30",
            "PartitionName=first MaxTime=INFINITE",
        )?;
        cause("PartitionDown", "PartitionName=first State=DOWN", "PartitionName=first State=UP")?;
        cancel(cluster, early)
    })
}

/// These reasons may also be those of a job that slurm-vipu refused. The plan ends because no scheduler looks at the job
/// any more.
#[test]
fn sched_plan_ends_without_a_look_at_its_job() -> Result<()> {
    let topology = "SwitchName=left Nodes=ipu-pod64-001\nSwitchName=right Nodes=ipu-pod64-002\nSwitchName=top Switches=left,right\n";
    let settings = two_nodes(roomy().slurm_conf("SchedulerParameters=bf_interval=1,sched_interval=1"))
        .slurm_conf("Licenses=tool:1")
        .slurm_conf("TopologyPlugin=topology/tree")
        .conf_file("topology.conf", topology);
    settings.run(|cluster| {
        let user = submit(cluster, &["--licenses=tool"])?;
        runs(cluster, user)?;
        Cause {
            reason: "",
            options: &[],
            begin: &|job| update(cluster, job, &["Licenses=tool"]),
            end: &|_| let_go(cluster, user),
        }
        .holds_nobody_back(cluster)?;
        Cause {
            reason: "",
            options: &["--nodelist=ipu-pod64-002"],
            begin: &|_| cluster.update_node(2, &["State=DOWN", "Reason=test"]),
            end: &|_| cluster.update_node(2, &["State=RESUME"]),
        }
        .holds_nobody_back(cluster)?;
        // Its two nodes never have one switch.
        Cause {
            reason: "",
            options: &["--nodes=2"],
            begin: &|job| update(cluster, job, &["Switches=1@60"]),
            end: &|job| update(cluster, job, &["Switches=2"]),
        }
        .holds_nobody_back(cluster)
    })
}
