//! What users ask for, at submit and later: checked and completed. All of it runs under slurmctld's locks: no I/O, no waiting.

use slurm_host::job::JobRef;
use slurm_host::submit::JobDescription;
use tracing::info;
use vipu_types::{GresRequest, JobOption};

use crate::after_failure;
use crate::limits::Standing;
use crate::request::{Refusal, Request, Taken};
use crate::site::Site;

/// Checks a new job's request and completes it. What there is to tell the user is a notice, or why it is refused.
pub(crate) fn submitted(site: &Site, description: &mut JobDescription<'_>) -> Result<Option<String>, String> {
    let options = description.options(JobOption::PREFIX);
    if options.is_empty() && !description.mentions_vipu() {
        return Ok(None);
    }
    refuse_other_tres(description)?;
    let named = description.slurm_partitions().filter(|names| !names.is_empty());
    let request = Request {
        tres: description.tres_per_node().unwrap_or_default(),
        options,
        standing: Standing {
            slurm_partitions: named.or_else(|| description.default_slurm_partition()),
            qos: description.qos(),
        },
    };
    let found = site.models(|models| models.find_new(&request)).map_err(Refusal::into_line)?;
    let Some(taken) = found else { return Ok(None) };
    let shortened = after_failure::check(site, &request.options, &taken.resolved.model)?;
    complete(description, &request.tres, &taken)?;
    failpoints::stop!("submit");
    let notices: Vec<_> = taken.notice().into_iter().chain(shortened).collect();
    Ok((!notices.is_empty()).then(|| notices.join("\n")))
}

/// Why a job does not become one without IPUs.
const OPTIONS_STAY: &str =
    "vipu: options like --ipus stay with their job, and need IPUs: cancel it, and submit it without them";

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
    let is_asked_anew = gres.is_some();
    let request = Request {
        tres: gres.or_else(|| job.tres_per_node()).unwrap_or_default(),
        options: job.options(JobOption::PREFIX),
        standing: Standing {
            slurm_partitions: slurm_partitions.or_else(|| job.slurm_partitions()),
            // An empty one stands for the default, which is not known here.
            qos: qos.or_else(|| job.qos()),
        },
    };
    let found = site.models(|models| models.find_changed(&request)).map_err(Refusal::into_line);
    let found = match found {
        Ok(None) if is_asked_anew && !request.options.is_empty() => Err(OPTIONS_STAY.to_owned()),
        found => found,
    };
    // Up to 22.05 only the log can tell.
    let found = found.inspect_err(|line| info!("job {} is not changed: {line}", job.id()))?;
    let Some(taken) = found.filter(|_| is_asked_anew) else { return Ok(None) };
    complete(description, &request.tres, &taken)?;
    Ok(taken.notice())
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

/// Writes what a request comes to in full into the message, where its list says otherwise.
fn complete(description: &mut JobDescription<'_>, tres: &str, taken: &Taken) -> Result<(), String> {
    if slurm_host::selfcheck::is_pass_through() {
        return Err("vipu: the IPU plugin has switched itself off; its reason is in slurmctld's log".into());
    }
    let canonical = taken.resolved.canonical();
    match canonical.replace_in(tres) {
        Some(completed) if completed == tres => {}
        Some(completed) => description.set_tres_per_node(&completed),
        None => description.add_gres(&canonical.to_string()),
    }
    Ok(())
}

fn mentions_vipu(tres: &str) -> bool {
    !matches!(GresRequest::find(tres), Ok(None))
}
