//! Heterogeneous jobs in line: one common start of all components, and the jobs that may go before it.

use crate::script::{Scripted, id, jobs, model, pod, pod_with, row_of, wish};
use ledger::{Event, Placement, Seconds, Wish};

const HOUR: i64 = 3600;
const KEPT: &str = "vipu: IPUs of pod64 are kept for job 11";
const TOGETHER: &str = "vipu: the components of this job need 64 IPUs of pod64 together";

/// A component of the heterogeneous job with the components 10 and 11, for five minutes.
fn component(job: u32, ipus: u64) -> Wish {
    Wish { components: vec![10, 11], ..wish(job, ipus, 300) }
}

/// Backfill's look at a component: its start, and the common start of both.
fn look(scripted: &mut Scripted, wish: &Wish, nodes: i64, ends: &[(u32, i64)]) -> (Option<i64>, Option<i64>) {
    let line = jobs(0, ends);
    let start = scripted.ledger.plan(wish, Seconds(nodes), &line);
    let common = scripted.ledger.note_component(&wish.components, wish.job(), start, &line);
    (start.map(|start| start.0), common.map(|common| common.0))
}

/// The ledger's answer to another job that wants to start.
fn start(scripted: &mut Scripted, wish: &Wish, ends: &[(u32, i64)]) -> String {
    let verdict = scripted.ledger.may_start(wish, &jobs(0, ends));
    verdict.map_or_else(|why| why.to_string(), |_| "go".into())
}

#[test]
fn others_go_before_the_common_start_of_all_components() {
    let (mut scripted, ends) = (row_of(&[(1, 8)]), [(1, HOUR)]);
    assert_eq!(look(&mut scripted, &component(10, 32), 0, &ends), (Some(0), None));
    let common = Some(HOUR + 1);
    assert_eq!(look(&mut scripted, &component(11, 32), 0, &ends), (common, common));
    assert_eq!(look(&mut scripted, &component(10, 32), 0, &ends), (common, common));
    assert_eq!(start(&mut scripted, &wish(12, 32, HOUR), &ends), "go");
    assert_eq!(start(&mut scripted, &wish(12, 32, HOUR + 2), &ends), KEPT);
    for job in [10, 11] {
        assert_eq!(start(&mut scripted, &component(job, 32), &ends), TOGETHER);
    }
    // Without the job with 8 IPUs.
    let mut scripted = row_of(&[]);
    assert_eq!(look(&mut scripted, &component(10, 32), 0, &[]).0, Some(0));
    assert_eq!(look(&mut scripted, &component(11, 32), 0, &[]), (Some(0), Some(0)));
    for job in [11, 10] {
        assert_eq!(start(&mut scripted, &component(job, 32), &[]), "go");
    }
}

#[test]
fn a_job_of_which_a_component_is_not_looked_at_keeps_nothing() {
    let mut scripted = row_of(&[]);
    let late = wish(12, 64, HOUR);
    // Job 11 has no IPUs, and Slurm does not look at it: it is over a limit of its account.
    assert_eq!(look(&mut scripted, &component(10, 64), 0, &[]), (Some(0), None));
    assert_eq!(start(&mut scripted, &late, &[]), "go");
    let note = |scripted: &mut Scripted, at| {
        let line = jobs(at, &[]);
        scripted.ledger.plan(&component(10, 64), Seconds(at), &line);
        scripted.ledger.note_component(&[10, 11], 10, Some(Seconds(at)), &line);
    };
    // It is looked at, and its nodes are busy for a hundred seconds.
    let line = jobs(0, &[]);
    assert_eq!(scripted.ledger.note_component(&[10, 11], 11, Some(Seconds(100)), &line), Some(Seconds(100)));
    assert_eq!(start(&mut scripted, &wish(12, 64, 100), &[]), "go");
    assert_eq!(start(&mut scripted, &late, &[]), "vipu: IPUs of pod64 are kept for job 10");
    // It is looked at no more.
    note(&mut scripted, 61);
    assert!(scripted.ledger.may_start(&late, &jobs(61, &[])).is_ok());
}

#[test]
fn components_on_two_models_start_together() {
    let mut scripted = row_of(&[(1, 64)]);
    scripted.tell(Event::Models(vec![pod("pod64"), pod("pod16")]));
    let (pod, asked) = (id("pod16", "vipu"), scripted.now);
    scripted.tell(Event::Inventory { pod, asked, ipus: 16, faulty: 0, partitions: vec![] });
    let ends = [(1, HOUR)];
    let on_pod16 = |wish: Wish| Wish { model: model("pod16"), ..wish };
    let small = on_pod16(component(11, 16));
    look(&mut scripted, &component(10, 64), 0, &ends);
    assert_eq!(look(&mut scripted, &small, 0, &ends), (Some(HOUR + 1), Some(HOUR + 1)));
    assert_eq!(start(&mut scripted, &on_pod16(wish(12, 16, HOUR)), &ends), "go");
    assert_eq!(
        start(&mut scripted, &on_pod16(wish(12, 16, 2 * HOUR)), &ends),
        "vipu: IPUs of pod16 are kept for job 11"
    );
}

#[test]
fn a_component_without_others_in_line_starts_as_any_job() {
    let mut scripted = pod_with(Placement::Controller, &[(1, 32, 32)]);
    let ends = [(1, 100)];
    // The plan has the free half, and could as well have the other one.
    scripted.ledger.plan(&wish(5, 32, HOUR), Seconds(101), &jobs(0, &ends));
    for newcomer in [wish(10, 32, HOUR), component(10, 32)] {
        assert_eq!(start(&mut scripted, &Wish { duration: ledger::span(HOUR), ..newcomer }, &ends), "go");
    }
}
