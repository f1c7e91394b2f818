//! The checks: each turns the facts into findings.

mod accounting;
mod admin_socket;
mod certificates;
mod clocks;
mod controllers;
mod directories;
mod gres_conf;
mod jobs;
mod leftovers;
mod limits;
mod models;
mod nodes;
mod plugins;
mod plugstack;
mod prolog;
mod secrets;
mod selector;
mod slurm_conf;
mod slurmd_unit;
mod state;
mod status;
mod status_files;

use crate::facts::Facts;
use crate::finding::{Examination, Finding};

/// A check.
type Check = fn(&Facts) -> Vec<Finding>;

/// All checks, in the order in which their findings are shown.
const CHECKS: &[Check] = &[
    plugins::release_is_known,
    plugins::files_are_there,
    plugins::files_are_of_one_build,
    plugins::one_name_of_the_selector,
    slurm_conf::lines,
    slurm_conf::nodes,
    selector::select_type,
    selector::parameters,
    selector::layer,
    jobs::gres_types,
    jobs::submit_plugin,
    jobs::locked_memory,
    jobs::time_to_save,
    prolog::variables,
    slurmd_unit::locked_memory,
    nodes::offers,
    nodes::fit,
    gres_conf::lines,
    models::files,
    models::strays,
    limits::slurm_partitions,
    limits::qos,
    plugstack::line,
    plugstack::arguments,
    plugstack::plugin_is_there,
    secrets::permissions,
    certificates::validity,
    directories::permissions,
    directories::access_lists,
    directories::clusters,
    controllers::answers,
    state::disk,
    state::journal,
    admin_socket::place,
    status_files::directories,
    status_files::group,
    clocks::status_time,
    status::age,
    status::models,
    status::controllers,
    status::partitions,
    accounting::tres,
    accounting::deny_on_limit,
    leftovers::scripts,
    unseen,
];

/// Runs all checks.
pub(crate) fn run(facts: &Facts) -> Examination {
    let mut findings: Vec<_> = CHECKS.iter().flat_map(|check| check(facts)).collect();
    findings.sort_by_key(|finding| finding.level);
    Examination {
        host: facts.host.clone(),
        roles: facts.slurm.roles(),
        slurm_conf: Some(facts.slurm.path.display().to_string()),
        slurm: facts.plugins.release.map(|release| release.to_string()),
        findings,
    }
}

/// Tells what was not looked at.
fn unseen(facts: &Facts) -> Vec<Finding> {
    let hint = |(subject, why): &(String, String)| {
        let fix = match why.contains("denied") {
            true => "run svipu doctor as root or SlurmUser",
            false => "mend this, and run svipu doctor again",
        };
        Finding::hint(subject, format!("not examined: {why}"), fix)
    };
    facts.unseen.iter().map(hint).collect()
}
