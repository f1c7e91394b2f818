//! Documents for the tests.

use std::collections::BTreeMap;
use std::time::SystemTime;

use anyhow::Result;
use vipu_status::{
    Bucket, Contact, ControllerCounters, Counters, Histogram, Ipus, Limits, Model, Partition, Pod, Rank,
    SCHEMA, State, Status, WaitingJob, Writer,
};

/// The Unix time in seconds.
pub(crate) fn now() -> Result<i64> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs().try_into()?)
}

/// A document about which no alert fires, and from which each expression has a value.
pub(crate) fn healthy() -> Result<Status> {
    let counters = ControllerCounters {
        creates: 20,
        removes: 19,
        resets: 7,
        reuses: 5,
        reconciliations: 5,
        failures: BTreeMap::from([("unavailable".into(), 1)]),
    };
    let pod = Pod {
        controller: "vipu:8090".into(),
        contact: Contact::Reached { since: 0 },
        ipus: Ipus { total: 64, free: 48, used: 16, ..Ipus::default() },
        usual_create: Some(2.0),
        counters,
        ..Pod::default()
    };
    let model = Model {
        name: "pod64".into(),
        pods: vec![pod],
        largest_now: 32,
        domain_size: 64,
        limits: Limits { job: 64, keep: 3600, ..Limits::default() },
        ..Model::default()
    };
    let times = Histogram { buckets: vec![Bucket { up_to: 1.0, count: 3 }], count: 5, sum: 9.0 };
    let seconds_in_state = [State::Creating, State::Removing].map(|state| (state, times.clone()));
    Ok(Status {
        schema: SCHEMA,
        written: now()?,
        writer: Writer { version: "0.1.0".into(), slurm: "24.11.5".into(), ..Writer::default() },
        models: vec![model],
        counters: Counters {
            seconds_in_state: seconds_in_state.into(),
            job_tests: times.clone(),
            ledger_held: times,
            ..Counters::default()
        },
        ..Status::default()
    })
}

/// A partition that has been in its state for some seconds.
pub(crate) fn partition(state: State, seconds: i64) -> Result<Partition> {
    Ok(Partition {
        key: 1,
        id: None,
        job: None,
        model: "pod64".into(),
        controller: "vipu:8090".into(),
        size: 4,
        places: vec![],
        places_are_assumed: true,
        state,
        since: now()? - seconds,
        begun: 0,
        ends: None,
        unlimited: false,
        ready_expected: None,
        reason: None,
    })
}

/// A job that could start by the forecast.
pub(crate) fn due() -> Result<WaitingJob> {
    Ok(WaitingJob {
        key: 2,
        job: None,
        model: "pod64".into(),
        size: 4,
        tasks: 1,
        rank: Rank::default(),
        duration: 60,
        not_before: 0,
        behind: None,
        reason: None,
        start: Some(now()? - 60),
        planned_controller: None,
        planned_places: vec![],
        controllers: vec![],
    })
}
