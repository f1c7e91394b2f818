//! Steps without IPUs: srun knows, and tells the step's tasks by a variable.
//!
//! Slurm gives a step the GRES of its job unless srun was asked for others, or for none. On the node nothing
//! of it is left to see: of what is `no_consume` it books nothing for any step.

use std::ffi::OsString;

use vipu_types::GresRequest;

/// The variable that says that the step has none, with the job's id: what a later job inherits of it means
/// nothing there.
pub(crate) const VARIABLE: &str = "SLURM_VIPU_STEP_WITHOUT";

/// Whether a step has its job's IPUs for which srun was given this `--gres`. What is wrong with it, Slurm
/// tells.
pub(crate) fn has_ipus(gres: Option<&str>) -> bool {
    gres.is_none_or(|gres| !matches!(GresRequest::find(gres), Ok(None)))
}

/// Whether srun said that the step of this job whose tasks have this environment has none.
pub(crate) fn is_told(job: u32, env: impl Fn(&str) -> Option<OsString>) -> bool {
    env(VARIABLE).is_some_and(|of_job| of_job.to_str() == Some(&job.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_what_it_asks_for_or_what_its_job_has() {
        assert!(has_ipus(None));
        for gres in ["gres:vipu:pod64:16", "gres/gpu:1,gres/vipu:4", "gres/vipu:x"] {
            assert!(has_ipus(Some(gres)), "{gres}");
        }
        for gres in ["none", "NONE", "gres:gpu:1", "gres/gpu:tesla:2,gres/nic:1"] {
            assert!(!has_ipus(Some(gres)), "{gres}");
        }
    }
}
