//! Documents for the tests.

use std::sync::Arc;

use vipu_status::{
    ConfFile, Contact, Ipus, Job, Limits, Model, OtherIpus, OtherUse, Partition, Place, Pod, PoolBlock,
    PoolState, Rank, SCHEMA, Share, State, Status, WaitingJob, WholeTime, WholeTimes, Writer,
};

use super::NOW;

pub(crate) const WRITTEN: i64 = NOW - 3;

pub(crate) fn places(domain: u32, from: u32, count: u32) -> Vec<Place> {
    (from..from + count).map(|index| Place { domain, index }).collect()
}

/// A document without any Pod.
pub(crate) fn empty() -> Status {
    let writer = Writer {
        version: "0.1.0".into(),
        slurm: "24.11.5".into(),
        cluster: "test".into(),
        started: WRITTEN - 9000,
    };
    Status { schema: SCHEMA, written: WRITTEN, writer, ..Status::default() }
}

pub(crate) fn model(name: &str, ipus: Ipus, domain_size: u32) -> Model {
    let pod = Pod {
        controller: "vipu:8090".into(),
        contact: Contact::Reached { since: WRITTEN - 7200 },
        version: Some("1.18.0".into()),
        trouble: None,
        largest_free: 8,
        ipus,
        ..Pod::default()
    };
    Model {
        name: name.into(),
        pods: vec![pod],
        largest_now: 8,
        domain_size,
        limits: Limits { job: ipus.total, keep: 3600, ..Limits::default() },
        conf: ConfFile { read: WRITTEN - 60, error: None, in_force: true },
        ..Model::default()
    }
}

pub(crate) fn partition(id: u32, user: u32, state: State, places: Vec<Place>) -> Partition {
    let job = Job {
        id,
        user,
        name: Some(format!("train{id}").into()),
        slurm_partition: Some("ipu".into()),
        ..Job::default()
    };
    Partition {
        key: id.into(),
        id: Some(format!("slurm_{id}")),
        job: Some(job.into()),
        model: "pod64".into(),
        controller: "vipu:8090".into(),
        size: u32::try_from(places.len()).unwrap(),
        places,
        state,
        since: WRITTEN - 600,
        begun: WRITTEN - 660,
        ends: Some(WRITTEN + 3600),
        ..Partition::default()
    }
}

pub(crate) fn waiting(id: u32, user: u32, size: u32, reason: &str) -> WaitingJob {
    WaitingJob {
        key: id.into(),
        job: Some(Job { id, user, name: Some("wait".into()), ..Job::default() }.into()),
        model: "pod64".into(),
        size,
        tasks: 1,
        rank: Rank { in_reservation: false, tier: 1, priority: 1000 - id },
        duration: 90_000,
        not_before: WRITTEN,
        reason: Some(reason.into()),
        ..WaitingJob::default()
    }
}

/// 64 IPUs with each use of IPUs.
pub(crate) fn pod64() -> Status {
    let ipus = Ipus {
        total: 64,
        free: 14,
        idle: 0,
        used: 24,
        prepared: 4,
        kept: 8,
        leaving: 4,
        foreign: 8,
        out_of_use: 0,
        faulty: 1,
        suspected: 1,
        drained: 0,
    };
    let mut status = empty();
    let mut model = model("pod64", ipus, 64);
    let other = |because, partition: Option<&str>, places| OtherIpus {
        because,
        partition: partition.map(Into::into),
        leaving: false,
        places,
    };
    model.pods[0].others = vec![
        other(OtherUse::Foreign, Some("by_hand"), places(0, 40, 8)),
        other(OtherUse::Faulty, None, places(0, 63, 1)),
        other(OtherUse::Suspected, None, places(0, 62, 1)),
    ];
    model.limits.job_in_slurm_partition = [("debug".to_owned(), 4)].into();
    model.limits.job_in_qos = [("short".to_owned(), 8)].into();
    model.limits.slurm_partition = [("ipu".to_owned(), Share { limit: 48, used: 24 })].into();
    status.models = vec![model];
    status.partitions = vec![
        partition(20, 1000, State::Running, places(0, 0, 16)),
        partition(21, 1001, State::Creating, places(0, 16, 8)),
        partition(22, 1001, State::Prepared, places(0, 24, 4)),
        partition(23, 1000, State::Kept, places(0, 32, 8)),
        partition(24, 4242, State::Removing, places(0, 28, 4)),
    ];
    status.partitions[1].places_are_assumed = true;
    status.partitions[1].ends = None;
    status.partitions[3].reason = Some("job 23 failed; --ipu-keep=1h".into());
    let job = |status: &mut Status, place: usize, array, component| {
        let job = status.line[place].job.as_mut().unwrap();
        let job = Arc::make_mut(job);
        (job.array, job.component) = (array, component);
    };
    status.line = vec![
        waiting(30, 1001, 32, "vipu: no 32 IPUs of pod64 are free side by side"),
        waiting(31, 1000, 16, "vipu: IPUs of pod64 are kept for job 30"),
        waiting(33, 1000, 16, "vipu: IPUs of pod64 are kept for job 30"),
    ];
    job(&mut status, 1, Some((17, 3)), None);
    job(&mut status, 2, None, Some((32, 1)));
    status.line[0].start = Some(WRITTEN + 3600);
    status.line[0].planned_controller = Some("vipu:8090".into());
    status.line[0].planned_places = places(0, 0, 32);
    status.line[1].behind = Some(30);
    status
}

/// A pool with a partition in each state, at times for whole Pods only, on a controller with nodes of its own.
pub(crate) fn pool() -> Status {
    let ipus = Ipus { total: 60, free: 16, used: 16, leaving: 16, out_of_use: 12, ..Ipus::default() };
    let mut status = empty();
    let mut model = model("pod64", ipus, 16);
    let block = |partition: &str, size, state, reason: Option<&str>| PoolBlock {
        partition: partition.into(),
        size,
        reconfigurable: false,
        state,
        reason: reason.map(Into::into),
    };
    let pod = &mut model.pods[0];
    pod.nodes = "ipu-a-[01-04]".into();
    pod.pool = vec![
        block("p16_1", 16, PoolState::Free, None),
        block("p16_2", 16, PoolState::Used, None),
        block("p16_3", 16, PoolState::Returning, None),
        block("p8_1", 8, PoolState::OutOfUse, Some("it is in error: link broken")),
        block("p4_1", 4, PoolState::OutOfUse, Some("somebody is removing it")),
    ];
    pod.missing = [("p4_2".to_owned(), "there is none of this name".to_owned())].into();
    let other = |id: &str, from, count| OtherIpus {
        because: OtherUse::OutOfUse,
        partition: Some(id.into()),
        leaving: false,
        places: places(3, from, count),
    };
    pod.others = vec![other("p8_1", 0, 8), other("p4_1", 8, 4)];
    (pod.largest_free, model.largest_now) = (16, 16);
    model.mode = "pool".into();
    let times = vec![WholeTime { from: WRITTEN + 3600, until: WRITTEN + 7200 }];
    model.whole_times = Some(WholeTimes { ipus: 16, times, known_until: WRITTEN + 9000 });
    status.models = vec![model];
    status.partitions = vec![
        partition(20, 1000, State::Running, places(1, 0, 16)),
        partition(21, 1001, State::Resetting, places(2, 0, 16)),
    ];
    for (entry, id) in status.partitions.iter_mut().zip(["p16_2", "p16_3"]) {
        entry.id = Some(id.into());
    }
    status
}

/// 1,024 IPUs in domains of this size, with 500 partitions of two.
pub(crate) fn pod1024(domain_size: u32) -> Status {
    let ipus = Ipus { total: 1024, used: 1000, free: 24, ..Ipus::default() };
    let mut status = empty();
    status.models = vec![model("pod64", ipus, domain_size)];
    status.partitions = (0..500)
        .map(|number| {
            let place = 2 * number;
            let user = if number % 100 == 0 { 1000 } else { 1001 };
            partition(100 + number, user, State::Running, places(place / domain_size, place % domain_size, 2))
        })
        .collect();
    status
}

/// Two controllers, of which one is lost, and troubles of each kind.
pub(crate) fn lost() -> Status {
    let mut status = pod64();
    status.out_of_order = Some("the ledger panicked".into());
    let model = &mut status.models[0];
    let reason = "connection refused".into();
    let lost = Pod {
        controller: "vipu2:8090".into(),
        contact: Contact::Lost { since: WRITTEN - 300, reason },
        trouble: Some("the controller does not answer".into()),
        ..Pod::default()
    };
    let not_yet = Pod { controller: "vipu3:8090".into(), ..Pod::default() };
    model.pods.extend([lost, not_yet]);
    model.trouble = Some("the disk with the journal is full".into());
    model.largest_now = 0;
    model.conf.error = Some("line 3: MaxKeep=x is no time".into());
    status
}

/// Names that attack a terminal.
pub(crate) fn hostile() -> Status {
    let evil = format!("\u{1b}[2J\r\n\u{202e}evil\u{9b}31m{}", "\u{301}".repeat(99));
    let long = evil.repeat(4000);
    let mut status = pod64();
    status.out_of_order = Some(evil.clone());
    (status.writer.version, status.writer.cluster) = (evil.clone(), evil.clone());
    let model = &mut status.models[0];
    model.name.clone_from(&evil);
    (model.trouble, model.conf.error) = (Some(evil.clone()), Some(evil.clone()));
    model.limits.job_in_qos = [(evil.clone(), 8)].into();
    model.pods[0].controller.clone_from(&evil);
    model.pods[0].version = Some(evil.clone());
    model.pods[0].contact = Contact::Lost { since: i64::MIN, reason: evil.clone() };
    model.pods[0].others[0].partition = Some(evil.clone());
    status.partitions.truncate(1);
    status.line.truncate(1);
    let (entry, row) = (&mut status.partitions[0], &mut status.line[0]);
    (entry.id, entry.reason) = (Some(long.clone()), Some(long.clone()));
    (entry.controller, entry.model, row.model) = (evil.clone(), evil.clone(), evil.clone().into());
    entry.places.push(Place { domain: u32::MAX, index: u32::MAX });
    (entry.since, entry.ends, row.start) = (i64::MIN, Some(i64::MAX), Some(i64::MIN));
    row.duration = u64::MAX;
    for job in [&mut entry.job, &mut row.job].into_iter().flatten() {
        let job = Arc::make_mut(job);
        (job.name, job.slurm_partition) = (Some(evil.clone().into()), Some(evil.clone().into()));
    }
    (row.reason, row.planned_controller) = (Some(long.into()), Some(evil));
    status
}
