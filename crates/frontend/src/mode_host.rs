//! Models in which each host has IPUs of its own (`Mode=host`): a job gets whole nodes, and exactly their IPUs.

use std::collections::BTreeSet;

use vipu_types::{IpuCount, ModelName, Reason, Words, words};

use crate::frontend::Frontend;
use crate::limits::Standing;
use crate::refusal::in_words;
use crate::request::{Request, Resolved, Taken};
use crate::slurm::{Job, JobDescription};

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
pub(crate) fn fitted(
    frontend: &Frontend,
    description: &mut impl JobDescription,
    taken: Taken,
    standing: &Standing,
) -> Result<Taken, Words> {
    let name = &taken.resolved.model;
    let models = frontend.models();
    let Some(model) = models.0.get(name).filter(|model| model.has_hosts()) else { return Ok(taken) };
    let most = model.most(name, standing).ipus;
    let sizes = model.host_sizes().unwrap_or_default().into_iter().filter(|size| size.get() <= most);
    let each = model.cabling.as_ref().and_then(|it| it.ipus_of_each()).ok_or_else(|| no_hosts(name))?;
    let hosts = Hosts { each, sizes: sizes.collect(), rounds_up: model.rounds_up() };
    let asked = description.asked_nodes();
    let size = hosts.size(taken.resolved.size, *asked.start())?;
    let nodes = size.get() / hosts.each;
    if !asked.contains(&nodes) {
        return Err(words!(
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
pub(crate) fn fitted_change(
    frontend: &Frontend,
    description: &mut impl JobDescription,
    job: impl Job,
    taken: Taken,
    standing: &Standing,
) -> Result<Taken, Words> {
    let model = &taken.resolved.model;
    if frontend.models().has_hosts(model) && !job.takes_whole_nodes() {
        return Err(words!("vipu: jobs on {model} get whole nodes: cancel this job, and submit it again"));
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
    let models = frontend.models();
    let Resolved { model, size, .. } = models.find(&request).ok()??;
    Some(size).filter(|_| models.has_hosts(&model))
}

impl Hosts {
    /// The size for a request of `wanted` IPUs and at least `fewest` nodes.
    fn size(&self, wanted: IpuCount, fewest: u32) -> Result<IpuCount, Words> {
        let refusal =
            || words!("vipu: jobs get all {} IPUs of each of their nodes; {}", self.each, self.valid());
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

/// The brief form of [`misfit`].
const MISFIT: &str = "vipu: its number of IPUs is not that of its nodes";

/// The brief form of the reason of a job whose nodes are free, and their IPUs are not.
pub(crate) const NOT_FREE: &str = "vipu: the IPUs of its nodes are not free";

/// The brief form of the reason of a job that got nodes without IPUs.
pub(crate) const NO_IPUS: &str = "vipu: no IPUs on its nodes";

/// The brief forms of the reasons about the nodes of a job. They hold until Slurm tests the job again.
pub(crate) const OF_NODES: [&str; 3] = [MISFIT, NOT_FREE, NO_IPUS];

/// The reason why a job does not start whose number of IPUs is not that of its number of nodes. It is from before the
/// mode, or its number of nodes was changed.
pub(crate) fn misfit(frontend: &Frontend, wanted: &Resolved, nodes: u32) -> Option<Reason> {
    let models = frontend.models();
    let model = models.0.get(&wanted.model)?;
    let (sizes, needed) = (model.host_sizes()?, model.cabling.as_ref()?.hosts_of(wanted.size));
    let Resolved { model, size, .. } = wanted;
    if sizes.is_empty() {
        return Some(Reason::new(MISFIT, no_hosts(model)));
    }
    if !sizes.contains(size) {
        let sizes = in_words(sizes);
        let line =
            format!("vipu: jobs on {model} get all IPUs of their nodes, {sizes}: cancel and submit again");
        return Some(Reason::new(MISFIT, line));
    }
    (needed != nodes).then(|| {
        let s = if needed == 1 { "" } else { "s" };
        let line = format!(
            "vipu: {size} IPUs of {model} are those of {needed} node{s}, not of {nodes}: scontrol update JobId=<id> NumNodes={needed}"
        );
        Reason::new(MISFIT, line)
    })
}

fn no_hosts(model: &ModelName) -> String {
    format!("vipu: no node of the HostMap of {model} is in slurm.conf")
}
