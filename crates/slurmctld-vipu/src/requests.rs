//! What users ask for, at submit and later: checked and completed. All of it runs under slurmctld's locks: no I/O, no waiting.

use slurm_host::job::JobRef;
use slurm_host::submit::JobDescription;
use tracing::info;
use vipu_types::{GresRequest, JobOption};

use crate::limits::Standing;
use crate::request::{Refusal, Request, Taken};
use crate::site::Site;

/// Checks a new job's request and completes it. What there is to tell the user is a notice, or why it is refused.
pub(crate) fn submitted(site: &Site, description: &mut JobDescription<'_>) -> Result<Option<String>, String> {
    refuse_other_tres(description)?;
    let gres = description.tres_per_node();
    let by_default = || description.default_slurm_partition();
    let slurm_partitions =
        description.slurm_partitions().filter(|names| !names.is_empty()).or_else(by_default);
    let request = Request {
        tres: gres.clone().unwrap_or_default(),
        options: description.options(JobOption::PREFIX),
        standing: Standing::new(slurm_partitions.as_deref(), description.qos().as_deref()),
    };
    let found = site.models(|models| models.find_new(&request));
    let asks_for_ipus = matches!(found, Ok(Some(_)));
    let notice = complete(description, gres, found)?;
    if asks_for_ipus {
        failpoints::stop!("submit");
    }
    Ok(notice)
}

/// The same for a job that is to be changed: its GRES list, or where it stands.
pub(crate) fn changed(
    site: &Site,
    description: &mut JobDescription<'_>,
    job: JobRef<'_>,
) -> Result<Option<String>, String> {
    refuse_other_tres(description)?;
    let (gres, slurm_partitions, qos) =
        (description.tres_per_node(), description.slurm_partitions(), description.qos());
    let moves = job.is_pending() && job.mentions_vipu() && (slurm_partitions.is_some() || qos.is_some());
    if gres.is_none() && !moves {
        return Ok(None);
    }
    let slurm_partitions = slurm_partitions.or_else(|| job.slurm_partitions());
    // An empty one stands for the default, which is not known here.
    let qos = qos.or_else(|| job.qos());
    let request = Request {
        tres: gres.clone().or_else(|| job.tres_per_node()).unwrap_or_default(),
        options: job.options(JobOption::PREFIX),
        standing: Standing::new(slurm_partitions.as_deref(), qos.as_deref()),
    };
    let found = site.models(|models| models.find_changed(&request));
    // Up to 22.05 only the log can tell.
    let logged = |why: &Refusal| info!("job {} is not changed: {why}", job.id());
    let found = found.inspect_err(logged);
    match gres {
        Some(gres) => complete(description, Some(gres), found),
        None => found.map(|_| None).map_err(|why| why.to_string()),
    }
}

fn refuse_other_tres(description: &JobDescription<'_>) -> Result<(), String> {
    let of_ipus = |(_, tres): &(&str, Option<String>)| tres.as_deref().is_some_and(mentions_vipu);
    match description.other_tres().into_iter().find(of_ipus) {
        Some((per_what, _)) => {
            Err(format!("vipu: IPUs cannot be asked for {per_what}; write --gres=vipu:<model>:<IPUs>"))
        }
        None => Ok(()),
    }
}

/// Writes what a request comes to in full into the message, where it says otherwise.
fn complete(
    description: &mut JobDescription<'_>,
    gres: Option<String>,
    found: Result<Option<Taken>, Refusal>,
) -> Result<Option<String>, String> {
    let Some(taken) = found.map_err(|refusal| refusal.to_string())? else { return Ok(None) };
    if slurm_host::selfcheck::is_pass_through() {
        return Err("vipu: the IPU plugin has switched itself off; its reason is in slurmctld's log".into());
    }
    let canonical = taken.resolved.canonical();
    match gres.filter(|gres| mentions_vipu(gres)) {
        Some(gres) => {
            let completed = canonical.replace_in(&gres);
            if completed != gres {
                description.set_tres_per_node(&completed);
            }
        }
        None => description.add_gres(&canonical.to_string()),
    }
    Ok(taken.notice())
}

fn mentions_vipu(tres: &str) -> bool {
    !matches!(GresRequest::find(tres), Ok(None))
}
