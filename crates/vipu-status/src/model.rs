//! A Pod model.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Pod;

/// A Pod model, with the Pods of its controllers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Model {
    /// The GRES type, as `pod64` in `--gres=vipu:pod64:16`.
    pub name: String,
    /// The way in which its jobs get their IPUs (Mode). Empty in older documents.
    #[serde(default)]
    pub mode: String,
    /// The partition that all its jobs share (SharedPartition). None if each job has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_partition: Option<String>,
    /// The Pods, in the order in which they are tried.
    pub pods: Vec<Pod>,
    /// The reason why no job can start on it now, whatever its size.
    pub trouble: Option<String>,
    /// The largest partition that fits now. 0 if none fits.
    pub largest_now: u32,
    /// IPUs in one IPU-Link domain (LinkDomainSize). A larger partition consists of whole domains.
    pub domain_size: u32,
    /// Whether slurm-vipu chooses the IPUs of a partition (Placement=explicit).
    pub chooses_ipus: bool,
    /// The limits in force.
    pub limits: Limits,
    /// The file with its settings.
    pub conf: ConfFile,
    /// The use of its IPUs in the last hour, once a minute, the oldest first.
    #[serde(default)]
    pub last_hour: Vec<Minute>,
    /// The licence that counts its IPUs, and no others. None if there is none.
    #[serde(default)]
    pub license: Option<License>,
    /// The times in which only the largest jobs run (WholeTimes). None if there are none.
    #[serde(default)]
    pub whole_times: Option<WholeTimes>,
}

/// The times in which only the largest jobs run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WholeTimes {
    /// The number of IPUs of these jobs.
    pub ipus: u32,
    /// The times, in the order of their starts.
    pub times: Vec<WholeTime>,
    /// The end of the period for which the times are known, in seconds since the Unix epoch.
    pub known_until: i64,
}

/// A time in which only the largest jobs run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WholeTime {
    /// The start, in seconds since the Unix epoch.
    pub from: i64,
    /// The end, in seconds since the Unix epoch.
    pub until: i64,
}

/// A licence of Slurm that counts the IPUs of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct License {
    /// The number that the cluster has.
    pub total: u32,
    /// The reservations that keep IPUs free: a number, not a block.
    pub reservations: Vec<LicenseReservation>,
}

/// A reservation of a licence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LicenseReservation {
    /// The number of IPUs that it keeps free for its own jobs.
    pub ipus: u32,
    /// The start.
    pub from: i64,
    /// The end.
    pub until: i64,
}

/// The use of a model at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Minute {
    /// The time.
    pub at: i64,
    /// The IPUs of jobs that run or are about to start.
    pub used: u32,
    /// The jobs in line.
    pub waiting: u32,
}

/// The limits of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limits {
    /// IPUs of one job.
    pub job: u32,
    /// IPUs of one job in a Slurm partition, by Slurm partition (MaxIpusPerJobInSlurmPartition).
    pub job_in_slurm_partition: BTreeMap<String, u32>,
    /// IPUs of one job of a QOS, by QOS in small letters (MaxIpusPerJobInQos).
    pub job_in_qos: BTreeMap<String, u32>,
    /// IPUs of all jobs of a Slurm partition, by Slurm partition (IpusPerSlurmPartition).
    pub slurm_partition: BTreeMap<String, Share>,
    /// The longest time for which `--ipu-keep` keeps the partition of a failed job, in seconds (MaxKeep).
    pub keep: u64,
}

/// A limit on the IPUs of all jobs of a Slurm partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Share {
    /// The IPUs that they may have together.
    pub limit: u32,
    /// The IPUs that they have.
    pub used: u64,
}

/// The file with the settings of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfFile {
    /// The time at which slurmctld last read it.
    pub read: i64,
    /// The error in it at that time. The last good settings are then in force.
    pub error: Option<String>,
    /// Whether any settings are in force.
    pub in_force: bool,
}
