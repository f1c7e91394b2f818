//! Finds what an installation of slurm-vipu gets wrong.
//!
//! [`examine`] first gathers facts: it reads files, asks the controllers, and judges nothing. Then each check
//! turns the facts into [`Finding`]s and reads nothing, so that it is a pure function. All paths count from the
//! root of a [`Host`], so that tests have hosts of their own. Nothing is written, and slurmctld gets no call.
#![forbid(unsafe_code)]

mod checks;
mod facts;
mod finding;
mod host;

pub use finding::{Examination, Finding, Level};
pub use host::{Host, in_group};

use facts::Facts;

/// Examines a host.
#[must_use]
pub fn examine(host: &Host<'_>) -> Examination {
    match Facts::gather(host) {
        Ok(facts) => checks::run(&facts),
        Err(finding) => {
            Examination { host: host.name.clone(), findings: vec![finding], ..Examination::default() }
        }
    }
}

#[cfg(test)]
mod tests;
