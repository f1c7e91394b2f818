//! What users ask of a running slurmctld, in the GRES list of a job that is refused with the answer.

use std::time::Instant;

use slurm_host::submit::JobDescription;
use vipu_admin::{ANSWER, DONE, UserRequest};
use vipu_status::AuditLine;
use vipu_types::{Words, shown, words};

use crate::admin::audit;
use crate::plugin::Plugin;

/// The answer to the request that a job brings from the user who submits it. `None` for any other job.
pub(crate) fn answer(plugin: &Plugin, description: &JobDescription<'_>, user: u32) -> Option<Words> {
    // The look at all jobs is cheap.
    let list = description.mentions_vipu().then(|| description.tres_per_node())?;
    let request = UserRequest::find(&list?)?;
    Some(match carry_out(plugin, &request, user) {
        Ok(done) => words!("{ANSWER}{DONE}{done}"),
        Err(why) => words!("{ANSWER}{why}"),
    })
}

/// Carries out a request, and puts it into the audit log if it changes anything.
fn carry_out(plugin: &Plugin, request: &UserRequest, user: u32) -> Result<String, Words> {
    if plugin.is_over() {
        return Err("another slurmctld is in charge: try it again".into());
    }
    let began = Instant::now();
    let done = plugin.frontend.free_own(user, request)?;
    let line = AuditLine {
        what: "free".to_owned(),
        target: Some(request.partition.clone()),
        // A server of names may hang.
        by: Some(user.to_string()),
        why: request.reason.as_deref().map(shown),
        user: Some(user),
        seconds: began.elapsed().as_secs_f64(),
        outcome: "ok".to_owned(),
        ..AuditLine::default()
    };
    audit(plugin, line);
    Ok(done)
}
