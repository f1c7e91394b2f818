//! A model of the status document, with the IPUs of its Pods counted by use.

use std::time::Duration;

use ledger::{Contact, Held, Holder, LicenseReservations, ModelView, PodView, PoolMember, PoolMemberState};
use vipu_conf::Mode;
use vipu_status::{
    ConfFile, Ipus, License, LicenseReservation, Limits, Model, OtherIpus, OtherUse, Partition, Pod,
    PoolBlock, PoolState, Share, State, WholeTime, WholeTimes,
};
use vipu_types::{ModelName, Placement};

use super::clocks::Clocks;
use super::ledger_held::LedgerHeld;
use super::partition::place;
use super::usual_times_and_last_hour::History;
use crate::frontend::Frontend;

pub(super) fn model(
    frontend: &Frontend,
    ledger_held: &mut LedgerHeld,
    clocks: Clocks,
    history: &History,
    state: ModelView,
    conf: ConfFile,
    partitions: &mut [(Partition, u32)],
) -> Model {
    let facts = &state.facts;
    let domain_size = domain_size(&state);
    Model {
        name: facts.model.to_string(),
        shared_partition: frontend.models().shared_partition(&facts.model).map(|id| id.to_string()),
        mode: frontend.models().mode(&facts.model).map_or("", Mode::name).to_owned(),
        trouble: state.trouble.map(|trouble| trouble.to_string()),
        largest_now: state.largest_now,
        domain_size,
        chooses_ipus: facts.placement == Placement::Explicit || facts.is_pool,
        limits: limits(frontend, ledger_held, &facts.model, facts.largest),
        conf,
        license: frontend.license_reservations().get(&facts.model).map(license),
        whole_times: frontend.whole_times().get(&facts.model).map(whole_times),
        pods: state
            .pods
            .into_iter()
            .map(|of_pod| pod(frontend, ledger_held, clocks, history, of_pod, partitions))
            .collect(),
        ..Model::default()
    }
}

/// IPUs in one IPU-Link domain. The domains of a pool are as large as its largest partition.
fn domain_size(model: &ModelView) -> u32 {
    let of_pods = model.pods.iter().map(|pod| pod.layout.domain(pod.ipus));
    if model.facts.is_pool { of_pods.max().unwrap_or(1) } else { model.facts.domain_size.get() }
}

fn license(of_model: &LicenseReservations) -> License {
    let reservation = |it: &ledger::LicenseReservation| LicenseReservation {
        ipus: it.ipus,
        from: it.from.0,
        until: it.until.0,
    };
    License { total: of_model.total, reservations: of_model.reserved.iter().map(reservation).collect() }
}

fn whole_times(of_model: &ledger::WholeTimes) -> WholeTimes {
    let time = |it: &ledger::WholeTime| WholeTime { from: it.from.0, until: it.until.0 };
    WholeTimes {
        ipus: of_model.whole.get(),
        times: of_model.times.iter().map(time).collect(),
        known_until: of_model.known_until.0,
    }
}

fn limits(frontend: &Frontend, ledger_held: &mut LedgerHeld, name: &ModelName, job: u32) -> Limits {
    let models = frontend.models();
    let Some(own) = models.settings(name) else { return Limits { job, ..Limits::default() } };
    let shares = ledger_held.copy(frontend, |ledger| {
        let share = |(slurm_partition, limit): (&String, &u32)| {
            let used = ledger.ipus_in_slurm_partition(name, slurm_partition);
            (slurm_partition.clone(), Share { limit: *limit, used })
        };
        own.ipus_per_slurm_partition.iter().map(share).collect()
    });
    Limits {
        job,
        job_in_slurm_partition: own.max_ipus_in_slurm_partition.clone(),
        job_in_qos: own.max_ipus_in_qos.clone(),
        slurm_partition: shares,
        keep: own.max_keep.as_secs(),
    }
}

fn pod(
    frontend: &Frontend,
    ledger_held: &mut LedgerHeld,
    clocks: Clocks,
    history: &History,
    state: PodView,
    partitions: &mut [(Partition, u32)],
) -> Pod {
    let held = ledger_held.copy(frontend, |ledger| ledger.held(&state.id));
    let (model, controller) = (state.id.model.to_string(), state.id.controller.to_string());
    let of_pod = partitions.iter_mut().map(|(partition, _)| partition);
    let mut of_pod: Vec<_> = of_pod.filter(|it| it.model == model && it.controller == controller).collect();
    let others = place_and_sort(held, &mut of_pod);
    let ipus = count(&state, &of_pod, &others);
    let usual_create = history.usual_create(&state.id);
    expect_ready(&mut of_pod, usual_create);
    let since = clocks.unix(state.contact_since);
    let nodes = frontend.models().nodes_of(&state.id);
    Pod {
        controller,
        nodes,
        contact: match state.contact {
            Contact::NotYet => vipu_status::Contact::NotYet,
            Contact::Reached => vipu_status::Contact::Reached { since },
            Contact::Lost(reason) => vipu_status::Contact::Lost { since, reason: reason.into() },
        },
        trouble: state.trouble.map(|trouble| trouble.to_string()),
        ipus,
        largest_free: state.largest_free,
        missing: state.missing.into_iter().map(|(id, why)| (id.to_string(), why.into())).collect(),
        pool: state.pool.into_iter().map(pool_block).collect(),
        others,
        usual_create,
        ..Pod::default()
    }
}

fn pool_block(PoolMember { partition, block, state }: PoolMember) -> PoolBlock {
    let (state, reason) = match state {
        PoolMemberState::Free => (PoolState::Free, None),
        PoolMemberState::Used => (PoolState::Used, None),
        PoolMemberState::Returning => (PoolState::Returning, None),
        PoolMemberState::OutOfUse(reason) => (PoolState::OutOfUse, Some(reason.into())),
    };
    let (size, reconfigurable) = (block.size.get(), block.is_reconfigurable);
    PoolBlock { partition: partition.to_string(), size, reconfigurable, state, reason }
}

/// Tells when the partitions that are being made will be ready, if they take the usual time.
fn expect_ready(partitions: &mut [&mut Partition], usual_create: Option<f64>) {
    let usual = usual_create.map(|seconds| Duration::from_secs_f64(seconds).as_secs());
    for it in partitions.iter_mut().filter(|it| matches!(it.state, State::Creating | State::Preparing)) {
        it.ready_expected = usual.map(|usual| it.begun.saturating_add_unsigned(usual));
    }
}

/// Gives partitions that no listing shows their assumed places. Returns the other holders.
fn place_and_sort(held: Vec<Held>, partitions: &mut [&mut Partition]) -> Vec<OtherIpus> {
    let mut others = Vec::new();
    for Held { by, places } in held {
        let places = places.into_iter().map(place).collect();
        let (because, partition, leaving) = match by {
            Holder::Claim(key) => {
                let unplaced = |it: &&mut &mut Partition| it.key == key && it.places.is_empty();
                if let Some(partition) = partitions.iter_mut().find(unplaced) {
                    partition.places = places;
                }
                continue;
            }
            Holder::Foreign { partition, leaving } => {
                (OtherUse::Foreign, Some(partition.to_string()), leaving)
            }
            Holder::OutOfUse { partition, leaving } => {
                (OtherUse::OutOfUse, Some(partition.to_string()), leaving)
            }
            Holder::Suspected => (OtherUse::Suspected, None, false),
            Holder::Faulty => (OtherUse::Faulty, None, false),
        };
        others.push(OtherIpus { because, partition, leaving, places });
    }
    others
}

fn count(state: &PodView, partitions: &[&mut Partition], others: &[OtherIpus]) -> Ipus {
    let total = state.ipus;
    let mut ipus = Ipus { total, ..Ipus::default() };
    for partition in partitions {
        *match partition.state {
            State::Preparing | State::Prepared => &mut ipus.prepared,
            State::Creating | State::Ready | State::Running => &mut ipus.used,
            State::Kept => &mut ipus.kept,
            State::Failed | State::Ending | State::Resetting | State::Removing => &mut ipus.leaving,
            State::Idle => &mut ipus.idle,
        } += partition.size;
    }
    for other in others {
        *match other.because {
            OtherUse::Foreign => &mut ipus.foreign,
            OtherUse::OutOfUse => &mut ipus.out_of_use,
            OtherUse::Faulty => &mut ipus.faulty,
            OtherUse::Suspected => &mut ipus.suspected,
        } += u32::try_from(other.places.len()).unwrap_or(u32::MAX);
    }
    let by_jobs = [ipus.used, ipus.prepared, ipus.kept, ipus.leaving];
    let by_others = [ipus.foreign, ipus.out_of_use, ipus.faulty, ipus.suspected];
    let taken = by_jobs.into_iter().chain(by_others);
    let untaken = taken.fold(total, u32::saturating_sub);
    ipus.drained = state.drained.min(untaken);
    ipus.free = untaken - ipus.drained;
    ipus
}
