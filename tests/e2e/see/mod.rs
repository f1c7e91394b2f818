//! The Pods, partitions and waiting jobs, for people and programs.

mod doctor;
mod reasons_for_programs;
mod status_cost;
mod status_document;
pub(crate) mod steering;
mod svipu;
mod when;

use std::fs;

use anyhow::Result;
use testbed::{Cluster, programs};
use vipu_status::{Status, file_names};

/// Runs svipu with these arguments, and returns its output.
pub(crate) fn svipu(cluster: &Cluster, args: &[&str]) -> Result<String> {
    Ok(cluster.command(&programs::find("svipu")?.to_string_lossy()).args(args).success()?.stdout)
}

/// The whole status document. None until slurmctld has written one.
pub(crate) fn document(cluster: &Cluster) -> Result<Option<Status>> {
    let text = fs::read(cluster.layout().state().join(file_names::WHOLE));
    Ok(text.ok().map(|text| Status::parse(&text)).transpose()?)
}
