//! The Pods, partitions and waiting jobs, for people and programs.

mod doctor;
mod status_cost;
mod status_document;
pub(crate) mod steering;
mod svipu;
mod when;
