//! The limits of the model.

use vipu_status::{Model, Share, WaitingJob};

use super::{Sentence, Waiting};
use crate::{names, safe};

/// The limits that the job breaks. The document does not tell its QOS.
pub(super) fn causes(waiting: &Waiting<'_>) -> Vec<Sentence> {
    let mut causes = Vec::new();
    let (size, limits) = (waiting.row.size, &waiting.model.limits);
    let model = safe::cut(&waiting.model.name, 30);
    if size > limits.job {
        let text = format!("A job on {model} gets at most {}.", names::ipus(limits.job));
        causes.push(Sentence::new("limit_job", text));
    }
    let Some(name) = slurm_partition(waiting.row) else { return causes };
    let shown = safe::cut(name, 30);
    if let Some(limit) = limits.job_in_slurm_partition.get(name).filter(|limit| size > **limit) {
        let text =
            format!("A job in Slurm partition {shown} gets at most {} of {model}.", names::ipus(*limit));
        causes.push(Sentence::new("limit_slurm_partition", text));
    }
    if let Some(Share { limit, used }) = limits.slurm_partition.get(name)
        && used.saturating_add(size.into()) > (*limit).into()
    {
        let text = format!(
            "The jobs of Slurm partition {shown} have {used} of at most {} of {model}, so that this job has to wait \
             until others of them end.",
            names::ipus(*limit)
        );
        causes.push(Sentence::new("share", text));
    }
    causes
}

/// The largest size that the limits of a model allow the job now.
pub(super) fn allowed(row: &WaitingJob, model: &Model) -> u32 {
    let limits = &model.limits;
    let Some(name) = slurm_partition(row) else { return limits.job };
    let of_job = limits.job_in_slurm_partition.get(name).copied().unwrap_or(limits.job);
    let left = |share: &Share| u32::try_from(u64::from(share.limit).saturating_sub(share.used)).unwrap_or(0);
    let of_all = limits.slurm_partition.get(name).map_or(limits.job, left);
    limits.job.min(of_job).min(of_all)
}

fn slurm_partition(row: &WaitingJob) -> Option<&str> {
    row.job.as_ref()?.slurm_partition.as_deref()
}
