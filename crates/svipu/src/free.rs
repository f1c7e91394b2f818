//! `svipu partition free`. Administrators use the admin socket. Users cannot reach it: they submit a job, whose
//! submitter Slurm authenticates, and slurmctld refuses the job with the answer.

use std::path::Path;
use std::process::Output;

use vipu_admin::{ANSWER, DONE, Request, UserRequest};
use vipu_types::{shown, words};

use crate::arguments::options::PartitionCommand;
use crate::error::Failure;
use crate::surroundings::Surroundings;
use crate::{safe, slurm_command, steering};

/// Has slurmctld remove a partition, and returns what happened.
pub(crate) fn run(
    command: &PartitionCommand,
    socket: Option<&Path>,
    surroundings: &Surroundings,
) -> Result<String, Failure> {
    let PartitionCommand::Free { id, reason, force } = command;
    if !*force && !steering::is_administrator(socket, surroundings) {
        let request = UserRequest { partition: id.clone(), reason: reason.as_deref().map(shown) };
        let mut sbatch = slurm_command::of("sbatch", surroundings);
        // Only slurmctld of the slurm.conf here is meant: another cluster may have a partition of this name.
        sbatch.env_remove("SBATCH_CLUSTERS").env_remove("SLURM_CLUSTERS");
        // Slurm makes no job of a test, also if nobody takes the request.
        sbatch.args(["--test-only", &format!("--gres={}", request.to_gres()), "--wrap=true"]);
        return answer(&slurm_command::output(&mut sbatch)?);
    }
    let reason = reason.clone().ok_or(Failure::NoReason)?;
    steering::carry_out(&Request::Free { partition: id.clone(), reason, force: *force }, socket, surroundings)
}

/// The answer to a user in what sbatch printed.
fn answer(output: &Output) -> Result<String, Failure> {
    let errors = String::from_utf8_lossy(&output.stderr);
    let lines = errors.lines().map(|line| line.strip_prefix("sbatch: error: ").unwrap_or(line));
    if let Some(answer) = lines.clone().find_map(|line| line.strip_prefix(ANSWER)) {
        return match answer.strip_prefix(DONE) {
            Some(done) => Ok(safe::cut(done, safe::LINE) + "\n"),
            None => Err(Failure::Words(safe::cut(answer, safe::LINE).into())),
        };
    }
    let said = safe::cut(&lines.collect::<Vec<_>>().join("; "), safe::LINE);
    Err(Failure::Words(if said.contains("Unable to contact slurm controller") {
        words!("slurmctld does not answer: {said}; try it again when `scontrol ping` says UP")
    } else {
        words!(
            "slurm-vipu did not see the request: {said}; if the site wants something of each job, set that as \
             SBATCH_ACCOUNT or the like; otherwise an administrator has to see whether JobSubmitPlugins in slurm.conf has \
             vipu, and can free the partition"
        )
    }))
}
