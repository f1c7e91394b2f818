//! The limits of the model.

use vipu_status::Share;

use super::sentence::Sentence;
use super::waiting::{Waiting, slurm_partition};
use crate::{names, safe};

/// The limits that the job breaks.
pub(super) fn causes(waiting: &Waiting<'_>) -> Vec<Sentence> {
    let mut causes = Vec::new();
    let (size, limits) = (waiting.row.size, &waiting.model.limits);
    let model = safe::cut(&waiting.model.name, 30);
    if size > limits.job {
        let text = format!("A job on {model} gets at most {}.", names::ipus(limits.job));
        causes.push(Sentence::new("limit_job", text));
    }
    let qos = waiting.row.job.as_deref().and_then(|job| job.qos.as_deref());
    let of_qos = |name| Some((name, *limits.job_in_qos.get(name)?));
    if let Some((name, limit)) = qos.and_then(of_qos).filter(|(_, limit)| size > *limit) {
        let text =
            format!("A job of QOS {} gets at most {} of {model}.", safe::cut(name, 30), names::ipus(limit));
        causes.push(Sentence::new("limit_qos", text));
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
