//! Finds what an installation of slurm-vipu gets wrong.
//!
//! Each file is a subject: it reads what it needs, and judges it. [`examine`] first gathers the facts that several
//! subjects need, and asks the controllers; then all checks run. All paths count from the root of a [`Host`], so that
//! tests have hosts of their own. Nothing is written, and slurmctld gets no call.
#![forbid(unsafe_code)]

mod accounting;
mod admin_socket;
mod controllers;
mod credentials;
mod directories;
mod examination;
mod finding;
mod gres_conf;
mod host;
mod jobs;
mod leftovers;
mod limits;
mod models;
mod nodes;
mod plugins;
mod plugstack;
mod selector;
mod slurm_conf;
mod slurmd_unit;
mod state;
mod status;
mod status_files;

pub use finding::{Examination, Finding, Level};
pub use host::{Host, in_group};

use examination::Facts;

/// Examines a host.
#[must_use]
pub fn examine(host: &Host<'_>) -> Examination {
    match Facts::gather(host) {
        Ok(facts) => facts.check(host),
        Err(finding) => {
            Examination { host: host.name.clone(), findings: vec![finding], ..Examination::default() }
        }
    }
}

#[cfg(test)]
mod tests;
