use vipu_status::{Ipus, OtherIpus, OtherUse};

use super::*;

fn places(indexes: std::ops::Range<u32>) -> Vec<Place> {
    indexes.map(|index| Place { domain: 0, index }).collect()
}

fn partition(places: Vec<Place>) -> Partition {
    Partition {
        key: 1,
        model: "pod4".into(),
        controller: "vipu:8090".into(),
        size: u32::try_from(places.len()).unwrap(),
        places,
        state: State::Running,
        ends: Some(500),
        ..Partition::default()
    }
}

/// A Pod of four IPUs at time 100.
fn pod4(others: Vec<OtherIpus>) -> Status {
    let pod = Pod {
        controller: "vipu:8090".into(),
        contact: Contact::Reached { since: 0 },
        ipus: Ipus { total: 4, ..Ipus::default() },
        others,
        ..Pod::default()
    };
    let model = Model { name: "pod4".into(), domain_size: 4, pods: vec![pod], ..Model::default() };
    Status { written: 100, models: vec![model], ..Status::default() }
}

fn starts(status: &Status, size: u64) -> Option<i64> {
    let forecast = ModelForecast::new(status, &status.models[0], status.written).unwrap();
    Some(forecast.new_job(IpuCount::new(size).unwrap(), Duration::from_secs(60))?.at)
}

#[test]
fn cli_status_forecast_knows_that_partitions_of_others_go() {
    let other = |leaving| OtherIpus {
        because: OtherUse::Foreign,
        partition: Some("theirs".into()),
        leaving,
        places: places(0..2),
    };
    assert_eq!([2, 4].map(|size| starts(&pod4(vec![other(false)]), size)), [Some(100), None]);
    assert_eq!([2, 4].map(|size| starts(&pod4(vec![other(true)]), size)), [Some(100), Some(101)]);
}

#[test]
fn cli_status_forecast_knows_reservations_of_licences() {
    let mut status = pod4(vec![]);
    let reservation = vipu_status::LicenseReservation { ipus: 3, from: 130, until: 300 };
    status.models[0].license = Some(vipu_status::License { total: 4, reservations: vec![reservation] });
    // The jobs run for 60 s.
    assert_eq!([1, 2].map(|size| starts(&status, size)), [Some(100), Some(300)]);
}

/// A drained IPU of a partition is taken once.
#[test]
fn cli_status_forecast_counts_a_drained_ipu_of_a_job_once() {
    let mut status = pod4(Vec::new());
    status.partitions = vec![partition(places(0..2))];
    let drain =
        |index| Drain { model: "pod4".into(), place: Some(Place { domain: 0, index }), ..Drain::default() };
    let room = |status: &Status, size| room_for(status, &status.models[0], IpuCount::new(size).unwrap());
    status.drains = vec![drain(0)];
    assert_eq!([1, 2].map(|size| room(&status, size)), [2, 1]);
    assert_eq!([2, 4].map(|size| starts(&status, size)), [Some(100), None]);
    status.drains.push(drain(3));
    assert_eq!([1, 2].map(|size| room(&status, size)), [1, 0]);
    assert_eq!([1, 2].map(|size| starts(&status, size)), [Some(100), None]);
}

/// A number of IPUs that no Pod has costs neither a panic nor a long time.
#[test]
fn cli_status_forecast_survives_a_broken_number_of_ipus() {
    for total in [u32::MAX, 1 << 31] {
        let mut status = pod4(Vec::new());
        status.models[0].pods[0].ipus.total = total;
        assert_eq!(starts(&status, 4), Some(100));
    }
}

#[test]
fn cli_status_forecast_after_a_job_without_a_time_limit_has_no_time() {
    let mut status = pod4(vec![]);
    status.partitions = vec![Partition { ends: None, unlimited: true, ..partition(places(0..2)) }];
    let start = |size| {
        let forecast = ModelForecast::new(&status, &status.models[0], status.written).unwrap();
        let start = forecast.new_job(IpuCount::new(size).unwrap(), Duration::from_secs(60)).unwrap();
        (start.time(status.written), start.places)
    };
    assert_eq!(start(2), (Some(100), places(2..4)));
    assert_eq!(start(4), (None, places(0..4)));
}
