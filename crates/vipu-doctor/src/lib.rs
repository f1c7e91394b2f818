//! Finds what an installation of slurm-vipu gets wrong.
//!
//! Each file is a subject: it reads what it needs, and judges it. [`examine`] first gathers the facts that several
//! subjects need, and asks the controllers; then all checks run. All paths count from the root of a [`Host`], so that
//! tests have hosts of their own. Nothing is written, and slurmctld gets no call.
#![forbid(unsafe_code)]

mod access;
mod accounting;
mod admin_socket;
mod controllers;
mod credentials;
mod examination;
mod finding;
mod gres_conf;
mod host;
mod ipuof_directories;
mod limit_names;
mod models;
mod node_gres;
mod plugins;
mod plugstack;
mod private_directories;
mod selector;
mod slurm_conf;
mod slurm_conf_keys;
mod slurmd_unit;
mod state_save_location;
mod status_dir;
mod status_document;
mod vendor_leftovers;

pub use finding::{Examination, Finding, Level};
pub use host::{Host, groups, in_group};
pub use plugins::slurm_release;

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
