//! Models in which each host has IPUs of its own (`Mode=host`): a job gets whole nodes, and exactly their IPUs.

use std::collections::BTreeSet;
use std::ops::Range;

use ledger::{Jobs, Seconds};
use vipu_types::{IpuCount, ModelName};

use crate::frontend::Frontend;
use crate::in_slurm::{InSlurm, candidates, wish};
use crate::limits::Standing;
use crate::node_choice::Choice;
use crate::request::{Request, Resolved, Taken, in_words};
use crate::slurm::{Job, JobDescription, Test};
use crate::verdict::{Verdict, wait};

/// The hosts of a model, as far as a request needs them.
struct Hosts {
    /// The IPUs of each.
    each: u32,
    /// The sizes that hosts together have and that the job may have.
    sizes: BTreeSet<IpuCount>,
    rounds_up: bool,
}

/// Fits a request to the hosts of its model, if each has IPUs of its own: to a number of nodes with all their IPUs. The
/// job gets these nodes for itself. One IPU, which is what `--gres=vipu:<model>` asks for, stands for the IPUs of the
/// nodes that the job asks for.
///
/// # Errors
/// The refusal, in one line for the user.
pub(crate) fn fitted(
    frontend: &Frontend,
    description: &mut impl JobDescription,
    taken: Taken,
    standing: &Standing,
) -> Result<Taken, String> {
    let name = &taken.resolved.model;
    let found = frontend.models(|models| {
        let model = models.0.get(name).filter(|model| model.has_hosts())?;
        let most = model.most(name, standing).ipus;
        let sizes = model.host_sizes().unwrap_or_default().into_iter().filter(|size| size.get() <= most);
        let each = model.cabling.as_ref().and_then(|it| it.ipus_of_each());
        let hosts = |each| Hosts { each, sizes: sizes.collect(), rounds_up: model.rounds_up() };
        Some(each.map(hosts).ok_or_else(|| no_hosts(name)))
    });
    let Some(hosts) = found.transpose()? else { return Ok(taken) };
    let asked = description.asked_nodes();
    let size = hosts.size(taken.resolved.size, *asked.start())?;
    let nodes = size.get() / hosts.each;
    if !asked.contains(&nodes) {
        return Err(format!(
            "vipu: {size} IPUs of {name} are those of {nodes} node{}, which -N excludes; {}",
            if nodes == 1 { "" } else { "s" },
            hosts.valid()
        ));
    }
    description.set_nodes(nodes)?;
    let is_of_nodes = taken.resolved.size == IpuCount::ONE;
    Ok(if is_of_nodes { taken.with_size(size) } else { taken.rounded_to(size, in_words(hosts.sizes)) })
}

/// Fits a changed request as [`fitted`] does. Slurm lets no user change a job into one with whole nodes.
///
/// # Errors
/// The refusal, in one line for the user.
pub(crate) fn fitted_change(
    frontend: &Frontend,
    description: &mut impl JobDescription,
    job: impl Job,
    taken: Taken,
    standing: &Standing,
) -> Result<Taken, String> {
    let model = &taken.resolved.model;
    if frontend.models(|models| models.has_hosts(model)) && !job.takes_whole_nodes() {
        return Err(format!("vipu: jobs on {model} get whole nodes: cancel this job, and submit it again"));
    }
    let names_nodes = description.asked_nodes() != (1..=u32::MAX);
    let taken = match (taken.resolved.size, size_now(frontend, job)) {
        (IpuCount::ONE, Some(size)) if !names_nodes => taken.with_size(size),
        _ => taken,
    };
    fitted(frontend, description, taken, standing)
}

/// The IPUs that a job on hosts asks for until now.
fn size_now(frontend: &Frontend, job: impl Job) -> Option<IpuCount> {
    let request = Request { tres: job.tres_per_node()?, ..Request::default() };
    frontend.models(|models| {
        let Resolved { model, size, .. } = models.find(&request).ok()??;
        Some(size).filter(|_| models.has_hosts(&model))
    })
}

impl Hosts {
    /// The size for a request of `wanted` IPUs and at least `fewest` nodes.
    fn size(&self, wanted: IpuCount, fewest: u32) -> Result<IpuCount, String> {
        let refusal =
            || format!("vipu: jobs get all {} IPUs of each of their nodes; {}", self.each, self.valid());
        if wanted == IpuCount::ONE {
            let of_nodes = IpuCount::new(u64::from(fewest) * u64::from(self.each)).ok();
            return of_nodes.filter(|size| self.sizes.contains(size)).ok_or_else(refusal);
        }
        let next = self.sizes.range(wanted..).next().copied();
        next.filter(|size| *size == wanted || self.rounds_up).ok_or_else(refusal)
    }

    /// The requests that can be met.
    fn valid(&self) -> String {
        if self.sizes.is_empty() {
            return "this job may have fewer (MaxIpusPerJob)".to_owned();
        }
        let valid = self.sizes.iter().map(|size| format!("-N {} --ipus={size}", size.get() / self.each));
        format!("valid: {}", valid.collect::<Vec<_>>().join(" or "))
    }
}

/// Whether a job may start now on the hosts of a group, if necessary by preempting others. The stock selector knows
/// whether the hosts are free. Their IPUs are free too, unless a partition stayed there after a failure, or a job from
/// before this mode has them.
pub(crate) fn start_now(
    frontend: &Frontend,
    job: impl Job,
    wanted: &Resolved,
    choice: &mut Choice,
    test: &impl Test,
) -> Verdict {
    let jobs = InSlurm::new(frontend, job);
    let room = frontend.ledger().room_for(&wish(job, wanted));
    if let Some(why) = room.as_ref().err().filter(|why| !why.is_for_room()) {
        return wait(frontend, job, why.to_string());
    }
    let blocks = choice.blocks();
    for ipus in &blocks {
        if frontend.ledger().block_free_at(&wanted.model, ipus, &jobs) == Some(jobs.now()) {
            choice.try_block(ipus);
            return Verdict::Go;
        }
    }
    if test.may_preempt() {
        let on_block = |ipus: &Range<usize>| {
            let victims = victims(frontend, wanted, ipus, &jobs, test)?;
            Some((victims, ipus.clone())).filter(|(victims, _)| !victims.is_empty())
        };
        if let Some((victims, ipus)) = blocks.iter().filter_map(on_block).min_by_key(|(jobs, _)| jobs.len()) {
            choice.try_block(&ipus);
            frontend.victims.leave(job.id(), victims);
            return Verdict::Go;
        }
    }
    let elsewhere = || format!("vipu: the {} IPUs of its nodes are not free", wanted.size);
    wait(frontend, job, room.err().map_or_else(elsewhere, |why| why.to_string()))
}

/// The reason why a job does not start whose number of IPUs is not that of its number of nodes. It is from before the
/// mode, or its number of nodes was changed.
pub(crate) fn misfit(frontend: &Frontend, wanted: &Resolved, nodes: u32) -> Option<String> {
    frontend.models(|models| {
        let model = models.0.get(&wanted.model)?;
        let (sizes, needed) = (model.host_sizes()?, model.cabling.as_ref()?.hosts_of(wanted.size));
        let Resolved { model, size, .. } = wanted;
        if sizes.is_empty() {
            return Some(no_hosts(model));
        }
        if !sizes.contains(size) {
            let sizes = in_words(sizes);
            return Some(format!("vipu: jobs on {model} get all IPUs of their nodes, {sizes}: cancel and submit again"));
        }
        (needed != nodes).then(|| {
            let s = if needed == 1 { "" } else { "s" };
            format!("vipu: {size} IPUs of {model} are those of {needed} node{s}, not of {nodes}: scontrol update JobId=<id> NumNodes={needed}")
        })
    })
}

fn no_hosts(model: &ModelName) -> String {
    format!("vipu: no node of the HostMap of {model} is in slurm.conf")
}

/// The reason why a waiting job would be refused now. A reason about its own nodes stays until Slurm tests it again.
pub(crate) fn reason_now(frontend: &Frontend, job: impl Job, wanted: &Resolved) -> Option<String> {
    let of_nodes = job.reason().filter(|shown| shown.contains(" node"));
    of_nodes.or_else(|| Some(frontend.ledger().room_for(&wish(job, wanted)).err()?.to_string()))
}

/// The jobs that have to go before a block of IPUs is free. None if others have some of them.
pub(crate) fn victims(
    frontend: &Frontend,
    wanted: &Resolved,
    ipus: &Range<usize>,
    jobs: &InSlurm<impl Job>,
    test: &impl Test,
) -> Option<Vec<u32>> {
    frontend.ledger().victims_on_block(&wanted.model, ipus, &candidates(test), jobs)
}

/// The start of a job on the hosts of a block that are free at `nodes_free`. None if it is unknown.
pub(crate) fn start_on(
    frontend: &Frontend,
    wanted: &Resolved,
    ipus: &Range<usize>,
    nodes_free: Seconds,
    jobs: &InSlurm<impl Job>,
) -> Option<Seconds> {
    let free = frontend.ledger().block_free_at(&wanted.model, ipus, jobs)?;
    Some(free.max(nodes_free))
}
