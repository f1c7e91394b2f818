//! The IPUs that a waiting job may get, and the questions of schedulers about them: whether the job may start on them,
//! when it could, which jobs would have to go, and why it waits.
//!
//! | variant | jobs |
//! |---|---|
//! | [`AllowedIpus::Prepared`] | those whose partition is made before they have nodes (`Prepare`) |
//! | [`AllowedIpus::Any`] | those on any nodes, or on nodes that belong to controllers (`Nodes`) |
//! | [`AllowedIpus::Block`] | those on hosts with IPUs of their own (`Mode=host`) |
//!
//! Another way in which IPUs belong to nodes begins with a variant here and a group in [`cabling`](crate::cabling). The
//! request that fits it (`mode_host.rs`), its settings (`vipu-conf`) and the ledger's questions about it follow.

use std::collections::BTreeSet;
use std::ops::Range;

use ledger::{Candidate, Claim, Jobs as _, Ledger, Preparation, Seconds, Wait, Wish};
use vipu_types::{ControllerName, Reason};

use crate::cabling::{GroupIpus, NodeGroup};
use crate::frontend::Frontend;
use crate::jobs_for_ledger::{InSlurm, wish};
use crate::mode_host;
use crate::node_choice::{self, Choice};
use crate::request::Resolved;
use crate::slurm::Job;

/// A waiting job that asks for IPUs, under the lock of a callback.
pub(crate) struct AskingJob<'a, J> {
    pub(crate) frontend: &'a Frontend,
    pub(crate) job: J,
    pub(crate) wanted: &'a Resolved,
    pub(crate) wish: Wish,
    pub(crate) jobs: InSlurm<J>,
}

impl<'a, J: Job> AskingJob<'a, J> {
    pub(crate) fn new(frontend: &'a Frontend, job: J, wanted: &'a Resolved) -> Self {
        Self { frontend, job, wanted, wish: wish(job, wanted), jobs: InSlurm::new(frontend, job) }
    }
}

/// The IPUs that a job may get.
#[derive(Clone, Debug)]
pub(crate) enum AllowedIpus {
    /// Those of the partition that was made for it, or is being made.
    Prepared(Preparation),
    /// Any of these controllers. None: of all controllers of the model.
    Any(Option<BTreeSet<ControllerName>>),
    /// Exactly these of the model's first controller: those of the job's nodes.
    Block(Range<usize>),
}

impl From<&GroupIpus> for AllowedIpus {
    fn from(ipus: &GroupIpus) -> Self {
        match ipus {
            GroupIpus::Of(controller) => Self::Any(Some(BTreeSet::from([controller.clone()]))),
            GroupIpus::Block(ipus) => Self::Block(ipus.clone()),
        }
    }
}

/// The reason why a job cannot start now.
pub(crate) struct NotNow {
    pub(crate) why: Reason,
    /// Whether the end of other jobs would help.
    pub(crate) is_for_room: bool,
}

impl From<Wait> for NotNow {
    fn from(why: Wait) -> Self {
        Self { is_for_room: why.is_for_room(), why: why.into() }
    }
}

impl AllowedIpus {
    /// The partition that is prepared for a job, or is being prepared.
    pub(crate) fn prepared(asking: &AskingJob<'_, impl Job>) -> Option<Self> {
        asking.frontend.ledger().preparation(asking.job.id()).map(Self::Prepared)
    }

    /// The IPUs among which the nodes of a test let a job choose: any of the controllers of the groups, or the block of
    /// each group.
    pub(crate) fn of_choice(choice: Option<&Choice>) -> Vec<Self> {
        let Some(choice) = choice else { return vec![Self::Any(None)] };
        let groups = choice.groups();
        let controllers: Option<BTreeSet<_>> = groups.iter().map(|it| it.controller().cloned()).collect();
        match controllers {
            Some(all) => vec![Self::Any(Some(all))],
            None => groups.iter().map(|group| Self::from(&group.ipus)).collect(),
        }
    }

    /// The IPUs of the group that is tried.
    pub(crate) fn tried(choice: Option<&Choice>) -> Self {
        choice.and_then(Choice::tried).map_or(Self::Any(None), Self::from)
    }

    /// The wish of a job, for these IPUs.
    pub(crate) fn wish(&self, asking: &AskingJob<'_, impl Job>) -> Wish {
        let controllers = if let Self::Any(some) = self { some.clone() } else { None };
        Wish { controllers, ..asking.wish.clone() }
    }

    /// The IPUs on which a job may start now. A job that has to wait for any IPUs is in line from then on.
    pub(crate) fn start(&self, asking: &AskingJob<'_, impl Job>) -> Result<GroupIpus, NotNow> {
        let AskingJob { wanted, jobs, .. } = asking;
        let mut ledger = asking.frontend.ledger();
        match self {
            Self::Prepared(it) if it.ready.is_some() => Ok(GroupIpus::Of(it.claim.controller.clone())),
            Self::Prepared(it) => Err(NotNow { why: being_made(&ledger, &it.claim), is_for_room: false }),
            Self::Any(_) => Ok(GroupIpus::Of(ledger.may_start(&self.wish(asking), jobs)?)),
            Self::Block(ipus) => {
                // The stock selector knows whether the hosts are free. Their IPUs are free too, unless a partition
                // stayed there after a failure, or a job from before this mode has them.
                let room = ledger.room_for(&asking.wish).err().map(NotNow::from);
                let is_possible = room.as_ref().is_none_or(|why| why.is_for_room);
                if is_possible && ledger.block_free_at(&wanted.model, ipus, jobs) == Some(jobs.now()) {
                    return Ok(GroupIpus::Block(ipus.clone()));
                }
                let line = format!("vipu: the {} IPUs of its nodes are not free", wanted.size);
                let why = Reason::new(mode_host::NOT_FREE, line);
                Err(room.unwrap_or(NotNow { why, is_for_room: true }))
            }
        }
    }

    /// The time at which a job could start on them, not before `from`. None if it is unknown.
    pub(crate) fn forecast(&self, asking: &AskingJob<'_, impl Job>, from: Seconds) -> Option<Seconds> {
        let mut ledger = asking.frontend.ledger();
        match self {
            Self::Prepared(_) => Some(from),
            Self::Any(_) => ledger.forecast(&self.wish(asking), from, &asking.jobs),
            Self::Block(ipus) => {
                Some(ledger.block_free_at(&asking.wanted.model, ipus, &asking.jobs)?.max(from))
            }
        }
    }

    /// As [`Self::forecast`]. No job behind this one in line may delay that start from now on. Hosts are kept for a
    /// job by Slurm.
    pub(crate) fn plan(&self, asking: &AskingJob<'_, impl Job>, from: Seconds) -> Option<Seconds> {
        match self {
            Self::Any(_) => asking.frontend.ledger().plan(&self.wish(asking), from, &asking.jobs),
            Self::Prepared(_) | Self::Block(_) => self.forecast(asking, from),
        }
    }

    /// The fewest of the candidates that have to go for a job. Empty if the partitions being released suffice. None if
    /// they do not help.
    pub(crate) fn victims(
        &self,
        asking: &AskingJob<'_, impl Job>,
        candidates: &[Candidate],
    ) -> Option<Vec<u32>> {
        let mut ledger = asking.frontend.ledger();
        match self {
            Self::Prepared(_) => None,
            Self::Any(_) => ledger.victims(&self.wish(asking), candidates, &asking.jobs),
            Self::Block(ipus) => {
                ledger.victims_on_block(&asking.wanted.model, ipus, candidates, &asking.jobs)
            }
        }
    }

    /// Whether Slurm keeps the job's nodes until its IPUs are free, because they are the IPUs of these nodes.
    pub(crate) fn keep_their_nodes(&self) -> bool {
        matches!(self, Self::Block(_))
    }
}

/// The fewest jobs that have to go, as `find` tells them for the IPUs of one group or, without a choice, for all. The
/// group is tried.
pub(crate) fn fewest(
    choice: Option<&mut Choice>,
    find: impl Fn(&AllowedIpus) -> Option<Vec<u32>>,
) -> Option<Vec<u32>> {
    let Some(choice) = choice else { return find(&AllowedIpus::Any(None)) };
    let on = |group: &NodeGroup| Some((find(&AllowedIpus::from(&group.ipus))?, group.ipus.clone()));
    let (jobs, ipus) = choice.groups().iter().filter_map(on).min_by_key(|(jobs, _)| jobs.len())?;
    choice.try_ipus(&ipus);
    Some(jobs)
}

/// The reason in squeue while a partition is prepared.
pub(crate) const PREPARING: &str = "vipu: preparing";

/// The reason of a job whose partition is being prepared. It names the trouble that delays it, if any.
fn being_made(ledger: &Ledger, claim: &Claim) -> Reason {
    ledger.trouble_of(claim).map_or_else(|| PREPARING.into(), Reason::from)
}

/// The reason why a waiting job would be refused for its IPUs now. It asks the questions of [`AllowedIpus::start`] and
/// changes nothing.
pub(crate) fn reason(asking: &AskingJob<'_, impl Job>) -> Option<Reason> {
    let AskingJob { frontend, job, wanted, wish, jobs } = asking;
    let models = frontend.models();
    let mut ledger = frontend.ledger();
    if let Some(Preparation { claim, ready }) = ledger.preparation(job.id()) {
        return ready.is_none().then(|| being_made(&ledger, &claim));
    }
    if models.has_hosts(&wanted.model) {
        let shown = job.reason().unwrap_or_default();
        let of_nodes = mode_host::OF_NODES.into_iter().find(|of_nodes| shown == *of_nodes).map(Reason::from);
        return of_nodes.or_else(|| Some(ledger.room_for(wish).err()?.into()));
    }
    let wish = Wish { controllers: ledger.controllers_in_line(job.id()), ..wish.clone() };
    let why = ledger.why_not_now(&wish, jobs).err()?;
    Some(node_choice::about(&models, &wish, why.into()))
}
