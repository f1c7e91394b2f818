//! Checks and completes requests, at submit and when a job is changed. All of it runs under slurmctld's
//! locks: no I/O, no waiting.

use std::cell::Cell;

use ledger::Ledger;
use tracing::info;
use vipu_types::{Grant, GresRequest, JobOption, ModelName, Words, words};

use crate::clocks_and_queues::Outside;
use crate::frontend::Frontend;
use crate::licenses::{self, License};
use crate::limits::Standing;
use crate::models::Models;
use crate::refusal::Refusal;
use crate::request::{Request, Resolved, Taken};
use crate::slurm::{Job, JobDescription};
use crate::{keep_and_requeue, mode_host, pool_sizes};

/// Removes variables by which a user's own client could deceive root's Prolog and Epilog. In a change of a job
/// Slurm ignores them (22.05 to 26.05).
pub fn drop_forged(description: &mut impl JobDescription) {
    description.clean_script_environment(Grant::BEGINNING);
}

/// Checks and completes the request of a new job. Returns a notice for the user, if there is one.
pub fn submitted(
    frontend: &Frontend,
    description: &mut impl JobDescription,
) -> Result<Option<String>, Words> {
    let options = description.options(JobOption::PREFIX);
    let component = description.component();
    if component.is_none_or(|number| number == 0) {
        EARLIER_COMPONENTS.take();
        HAS_SCRIPT.set(description.is_batch());
    }
    if options.is_empty() && !description.mentions_vipu() {
        complete_licenses(frontend, description, None, None, licenses::of_new)?;
        return Ok(None);
    }
    refuse_other_tres(frontend, description)?;
    let named = description.slurm_partitions().filter(|names| !names.is_empty());
    let request = Request {
        tres: description.tres_per_node().unwrap_or_default(),
        options,
        standing: Standing {
            slurm_partitions: named.or_else(|| description.default_slurm_partition()),
            qos: description.qos(),
        },
    };
    let found = frontend.models().find_new(&request).map_err(Refusal::into_line)?;
    let Some(taken) = found else {
        complete_licenses(frontend, description, None, None, licenses::of_new)?;
        return Ok(None);
    };
    let taken = pool_sizes::fitted(frontend, taken, &request.standing)?;
    let taken = mode_host::fitted(frontend, description, taken, &request.standing)?;
    let named = request.standing.slurm_partitions.filter(|_| !takes_its_place(description));
    there_are_ipus(frontend, description, named.as_deref(), &taken.resolved)?;
    let model = &taken.resolved.model;
    if component.is_some() {
        let mut components = EARLIER_COMPONENTS.take();
        components.push(taken.resolved.clone());
        fit_together(frontend, model, &components)?;
        EARLIER_COMPONENTS.set(components);
    }
    if frontend.models().has_hosts(model) {
        description.take_whole_nodes();
    }
    let limits = frontend.models().failure_limits(model);
    let shortened = keep_and_requeue::check(limits, &request.options, model)?;
    let canonical = frontend.models().canonical(&taken.resolved);
    complete(frontend.outside(), description, &request.tres, &canonical)?;
    complete_licenses(frontend, description, None, Some(&taken.resolved), licenses::of_new)?;
    failpoints::stop!("submit");
    let room = if HAS_SCRIPT.get() { None } else { why_not_now(&frontend.ledger(), &taken) };
    let notices: Vec<_> = taken.notice(&canonical).into_iter().chain(shortened).chain(room).collect();
    Ok((!notices.is_empty()).then(|| notices.join("\n")))
}

thread_local! {
    /// The components before this one of the heterogeneous job that is submitted.
    static EARLIER_COMPONENTS: Cell<Vec<Resolved>> = const { Cell::new(Vec::new()) };
    /// Whether the job that is submitted has a script. The first component has that of a heterogeneous job.
    static HAS_SCRIPT: Cell<bool> = const { Cell::new(false) };
}

/// Refuses a heterogeneous job whose components can never have their IPUs of a model together.
fn fit_together(frontend: &Frontend, model: &ModelName, components: &[Resolved]) -> Result<(), Words> {
    let of_model = components.iter().filter(|component| component.model == *model);
    let sizes: Vec<_> = of_model.map(|component| component.size).collect();
    if sizes.len() < 2 || frontend.models().shared_partition(model).is_some() {
        return Ok(());
    }
    let asked: u32 = sizes.iter().map(|size| size.get()).sum();
    match frontend.ledger().too_few_together(model, sizes) {
        Some(all) => {
            Err(words!("vipu: the components ask for {asked} IPUs of {model} together, which has {all}"))
        }
        None => Ok(()),
    }
}

/// Completes the licences of a new or of a changed job. `of_job` are those of a job that is changed.
fn complete_licenses(
    frontend: &Frontend,
    description: &mut impl JobDescription,
    of_job: Option<String>,
    wanted: Option<&Resolved>,
    complete: impl Fn(&Models, &str, Option<&License>) -> Result<Option<String>, Words>,
) -> Result<(), Words> {
    let asked = description.licenses().or(of_job).unwrap_or_default();
    let of_site = description.site_licenses().unwrap_or_default();
    let models = frontend.models();
    let own = wanted.and_then(|wanted| License::of(&models, wanted, &of_site));
    if let Some(completed) = complete(&models, &asked, own.as_ref())? {
        description.set_licenses(&completed);
    }
    Ok(())
}

const SWITCHED_OFF: &str = "vipu: the IPU plugin has switched itself off; its reason is in slurmctld's log";

/// Refuses a job that asks for IPUs, because no request can be resolved while there is no plugin.
pub fn refuse_ipus(description: &impl JobDescription) -> Result<Option<String>, Words> {
    let wants_ipus = description.mentions_vipu() || !description.options(JobOption::PREFIX).is_empty();
    if wants_ipus { Err(SWITCHED_OFF.into()) } else { Ok(None) }
}

/// Whether the job gets its Slurm partition from a reservation.
fn takes_its_place(description: &impl JobDescription) -> bool {
    description.names_reservation() && description.slurm_partitions().is_none_or(|names| names.is_empty())
}

/// Refuses a job in Slurm partitions without IPUs. It would wait for ever, or be refused with words about
/// nodes.
fn there_are_ipus(
    frontend: &Frontend,
    description: &impl JobDescription,
    slurm_partitions: Option<&str>,
    wanted: &Resolved,
) -> Result<(), Words> {
    let Some(names) = slurm_partitions else { return Ok(()) };
    let of = frontend.gres_type(&wanted.model, wanted.size);
    let all = || description.all_slurm_partitions();
    let refusal = frontend.slurm_partition_ipus.refuse(all, names, &of);
    refusal.map_or(Ok(()), Err)
}

/// The reason why there are no IPUs at the moment, for a user at a terminal. A job with `--immediate` is
/// refused next, with words of Slurm about nodes.
fn why_not_now(ledger: &Ledger, taken: &Taken) -> Option<String> {
    let (model, size) = (&taken.resolved.model, taken.resolved.size);
    ledger.fits_now(model, size).err().map(|why| why.to_string())
}

/// The refusal to change a job into one without IPUs.
const OPTIONS_STAY: &str =
    "vipu: options like --ipus stay with their job, and need IPUs: cancel it, and submit it without them";

/// Checks and completes a change of a job: of its GRES list, its licences, its Slurm partitions or its QOS.
/// Returns a notice for the user, if there is one.
pub fn changed(
    frontend: &Frontend,
    description: &mut impl JobDescription,
    job: impl Job,
) -> Result<Option<String>, Words> {
    refuse_other_tres(frontend, description)?;
    let gres = description.tres_per_node();
    // Up to 22.05 the user sees no text, so the log has it.
    let tell = |line: &Words| info!("job {} is not changed: {line}", job.id());
    let taken = judge_change(frontend, description, job).inspect_err(tell)?;
    let taken = taken.filter(|_| gres.is_some());
    let canonical = |taken: &Taken| frontend.models().canonical(&taken.resolved);
    let canonical = taken.as_ref().map(canonical);
    if let Some((canonical, gres)) = canonical.as_ref().zip(gres.as_deref()) {
        complete(frontend.outside(), description, gres, canonical)?;
    }
    if job.is_pending() && (gres.is_some() || description.licenses().is_some()) {
        let wanted = match gres {
            Some(_) => Ok(taken.as_ref().map(|taken| taken.resolved.clone())),
            None => frontend.models().wanted(job),
        };
        // The licence of a request that cannot be met any more stays.
        let complete = |wanted: Option<Resolved>| {
            complete_licenses(frontend, description, job.licenses(), wanted.as_ref(), licenses::of_changed)
        };
        wanted.map_or(Ok(()), complete).inspect_err(tell)?;
    } else if let Some(asked) = description.licenses() {
        let of_job = job.licenses().unwrap_or_default();
        let kept = licenses::of_running(&frontend.models(), &asked, &of_job);
        kept.into_iter().for_each(|licenses| description.set_licenses(&licenses));
    }
    Ok(taken.zip(canonical).and_then(|(taken, canonical)| taken.notice(&canonical)))
}

/// The request of a job after a change that concerns its IPUs. `None` after any other change, and for a job
/// without IPUs.
fn judge_change(
    frontend: &Frontend,
    description: &mut impl JobDescription,
    job: impl Job,
) -> Result<Option<Taken>, Words> {
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
            // An empty QOS stands for the default, which is unknown here.
            qos: qos.or_else(|| job.qos()),
        },
    };
    let found = frontend.models().find_changed(&request).map_err(Refusal::into_line)?;
    let Some(taken) = found else {
        let stays = is_asked_anew && !request.options.is_empty();
        return if stays { Err(OPTIONS_STAY.into()) } else { Ok(None) };
    };
    let taken = pool_sizes::fitted(frontend, taken, &request.standing)?;
    let taken = match is_asked_anew && job.is_pending() {
        true => mode_host::fitted_change(frontend, description, job, taken, &request.standing)?,
        false => taken,
    };
    let slurm_partitions = request.standing.slurm_partitions.as_deref();
    there_are_ipus(frontend, description, slurm_partitions, &taken.resolved)?;
    let others = job.components().into_iter().filter(|component| component.id() != job.id());
    let others = others.filter_map(|component| frontend.models().wanted(component).ok()?);
    let components: Vec<_> = others.chain([taken.resolved.clone()]).collect();
    fit_together(frontend, &taken.resolved.model, &components)?;
    Ok(Some(taken))
}

fn refuse_other_tres(frontend: &Frontend, description: &impl JobDescription) -> Result<(), Words> {
    let others = description.other_tres();
    let of_license = |tres: &str| licenses::asks_for_ours(&frontend.models(), tres);
    if others.iter().filter_map(|(_, tres)| tres.as_deref()).any(of_license) {
        return Err("vipu: this licence counts IPUs: ask for IPUs with --gres=vipu:<model>:<IPUs>".into());
    }
    let of_ipus = |(_, tres): &(&str, Option<String>)| tres.as_deref().is_some_and(mentions_vipu);
    match others.into_iter().find(of_ipus) {
        Some((per_what, _)) => {
            Err(words!("vipu: IPUs cannot be asked for {per_what}; write --gres=vipu:<model>:<IPUs>"))
        }
        None => Ok(()),
    }
}

/// Writes the complete request into the message, unless its GRES list has it already.
fn complete(
    outside: &dyn Outside,
    description: &mut impl JobDescription,
    tres: &str,
    canonical: &GresRequest,
) -> Result<(), Words> {
    if outside.is_switched_off() {
        return Err(SWITCHED_OFF.into());
    }
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
