//! Steps without IPUs. srun recognises them, and tells their tasks by a variable.
//!
//! Slurm gives a step the GRES of its job unless srun was asked for other GRES, or for none. The node cannot
//! see the difference, because Slurm books no `no_consume` GRES for any step.

use std::ffi::OsString;

use vipu_types::GresRequest;

/// The variable that says that the step has no IPUs. Its value is the job's id, so that it means nothing in a
/// later job that inherits it.
pub(crate) const VARIABLE: &str = "SLURM_VIPU_STEP_WITHOUT";

/// Whether a step for which srun was given this `--gres` has its job's IPUs. Slurm reports errors in it.
pub(crate) fn has_ipus(gres: Option<&str>) -> bool {
    gres.is_none_or(|gres| !matches!(GresRequest::find(gres), Ok(None)))
}

/// Whether srun said, in the environment of its tasks, that this step of `job` has no IPUs.
pub(crate) fn is_told(job: u32, env: impl Fn(&str) -> Option<OsString>) -> bool {
    env(VARIABLE).is_some_and(|of_job| of_job.to_str() == Some(&job.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_the_gres_it_asks_for_or_the_ipus_of_its_job() {
        assert!(has_ipus(None));
        for gres in ["gres:vipu:pod64:16", "gres/gpu:1,gres/vipu:4", "gres/vipu:x"] {
            assert!(has_ipus(Some(gres)), "{gres}");
        }
        for gres in ["none", "NONE", "gres:gpu:1", "gres/gpu:tesla:2,gres/nic:1"] {
            assert!(!has_ipus(Some(gres)), "{gres}");
        }
    }
}
