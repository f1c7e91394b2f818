//! The view of the ledger, in portions as the status document copies it.

use std::time::{Duration, Instant};

use crate::cost::busy;
use crate::script::{Scripted, empty_pod, id, seen};
use ledger::{Event, SeenPartition};

/// Prints the longest lock for one portion with 1,024 IPUs, about 1,000 claims and 10,000 waiting jobs.
#[test]
fn portions_have_every_claim_and_every_waiting_job_once() {
    let (scripted, _) = busy(1024, 10_000);
    let (ledger, pod) = (&scripted.ledger, id("pod64", "vipu"));
    let mut costs: Vec<Duration> = Vec::new();
    let mut timed = |began: Instant| costs.push(began.elapsed());

    let (mut claims, mut last) = (Vec::new(), None);
    loop {
        let began = Instant::now();
        let portion = ledger.claims_after(last, 64);
        timed(began);
        let Some(end) = portion.last() else { break };
        last = Some(end.serial);
        claims.extend(portion);
    }
    assert_eq!(claims, ledger.view().claims);
    assert!(claims.iter().all(|claim| claim.places.len() == 1));

    let (mut line, mut rank) = (Vec::new(), None);
    loop {
        let began = Instant::now();
        let portion = ledger.line_behind(&pod.model, rank, 256);
        timed(began);
        let Some(end) = portion.last() else { break };
        rank = Some(end.wish.rank);
        line.extend(portion);
    }
    assert_eq!(line.len(), 10_000);
    assert!(line.is_sorted_by(|one, next| one.wish.rank > next.wish.rank));

    let began = Instant::now();
    let held = ledger.held(&pod);
    timed(began);
    assert_eq!(held, [], "each IPU is free or of a listed partition");
    costs.sort_unstable();
    println!("{} portions, the longest {:?}", costs.len(), &costs[costs.len() - 3..]);
}

#[test]
fn ipus_without_a_listed_claim_have_their_holder() {
    let mut scripted = empty_pod();
    scripted.play("begin 1 -> create 1");
    let held = |scripted: &Scripted| {
        let mut held: Vec<String> = scripted
            .ledger
            .held(&id("pod64", "vipu"))
            .into_iter()
            .map(|held| format!("{:?}: {} from {}", held.by, held.places.len(), held.places[0].index))
            .collect();
        held.sort();
        held
    };
    assert_eq!(held(&scripted), ["Claim(0): 16 from 0"]);
    let (pod, asked) = (id("pod64", "vipu"), scripted.now);
    let stranger = SeenPartition { leaving: true, ..seen("stranger", 0..8) };
    let partitions = vec![seen("slurm_1", 16..32), stranger];
    scripted.ledger.apply(asked, Event::Inventory { pod, asked, ipus: 64, faulty: 2, partitions });
    let stranger = "Foreign { partition: PartitionId(\"stranger\"), leaving: true }: 8 from 0";
    assert_eq!(held(&scripted), ["Faulty: 2 from 8", stranger]);
    let claims = scripted.ledger.claims_after(None, 10);
    assert_eq!((claims.len(), claims[0].places.len(), claims[0].places[0].index), (1, 16, 16));
}
