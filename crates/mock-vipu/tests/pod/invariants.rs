//! Rules that hold for a Pod after any calls, faults and incidents.

use std::collections::{BTreeMap, BTreeSet};

use mock_vipu::{Allocation, Effect, Fault, Incident, Placement, double_owners};
use proptest::prelude::*;

use super::*;

/// Returns two allocations over two and a half domains.
fn hardware() -> Hardware {
    let allocation = |name: &str, agents| Allocation { name: name.to_owned(), agents };
    Hardware { allocations: vec![allocation("a", 0..=27), allocation("b", 28..=39)], ..Hardware::new(160) }
}

#[derive(Clone, Debug)]
enum Move {
    Create { id: u8, power: u32 },
    Remove { id: u8, force: bool },
    Relocate { id: u8 },
    Agent { agent: u32 },
    Ipu { agent: u32, ipu: u32 },
    Inject(Effect),
    Wait { millis: u64 },
}

fn moves() -> impl Strategy<Value = Move> {
    let text = || "broken".to_owned();
    let effects = prop::sample::select(vec![
        Effect::CreateError { text: text() },
        Effect::CreateStuck,
        Effect::RemoveFail { text: text() },
        Effect::RemoveStuck,
    ]);
    prop_oneof![
        8 => (0..40_u8, 0..8_u32).prop_map(|(id, power)| Move::Create { id, power }),
        6 => (0..40_u8, any::<bool>()).prop_map(|(id, force)| Move::Remove { id, force }),
        1 => (0..40_u8).prop_map(|id| Move::Relocate { id }),
        1 => (1..=40_u32).prop_map(|agent| Move::Agent { agent }),
        1 => (1..=40_u32, 0..4_u32).prop_map(|(agent, ipu)| Move::Ipu { agent, ipu }),
        1 => effects.prop_map(Move::Inject),
        4 => (0..3000_u64).prop_map(|millis| Move::Wait { millis }),
    ]
}

/// Makes one move. The Pod may refuse it.
fn play(pod: &mut Pod, one: &Move, now: &mut Nanos) {
    let name = |id: &u8| format!("p{id}");
    let agent_name = |agent: &u32| format!("ag{agent}");
    match one {
        Move::Create { id, power } => {
            let mut requirements = wanted(&name(id), 1 << power);
            requirements.num_ipulink_segments = (1_u32 << power).div_ceil(64);
            requirements.num_gcds = requirements.num_ipulink_segments;
            drop(pod.create(&request(requirements), *now));
        }
        Move::Remove { id, force } => drop(pod.remove(&name(id), *force, *now)),
        Move::Relocate { id } => drop(pod.cause(&Incident::Relocate { partition: name(id) }, *now)),
        Move::Agent { agent } => {
            pod.cause(&Incident::AgentDown { agent: agent_name(agent) }, *now).unwrap();
        }
        Move::Ipu { agent, ipu } => {
            pod.cause(&Incident::IpuFault { agent: agent_name(agent), ipu: *ipu }, *now).unwrap();
        }
        Move::Inject(effect) => pod.inject(Fault::new(effect.clone()).times(1)),
        Move::Wait { millis } => *now = *now + Duration::from_millis(*millis),
    }
}

fn check(pod: &mut Pod, now: Nanos) {
    let mut owners: BTreeMap<u32, String> = BTreeMap::new();
    for partition in pod.list("", now).unwrap() {
        let ipus = ipus(pod, &partition.id, now);
        let (first, size) = (ipus[0], u32::try_from(ipus.len()).unwrap());
        assert!(size.is_power_of_two() && first.is_multiple_of(size), "{}: {ipus:?}", partition.id);
        assert!(ipus.iter().copied().eq(first..first + size), "{}: {ipus:?}", partition.id);
        let in_a: BTreeSet<bool> = ipus.iter().map(|&ipu| ipu < 28 * 4).collect();
        assert_eq!(in_a.len(), 1, "{} spans two allocations", partition.id);
        for ipu in ipus {
            let earlier = owners.insert(ipu, partition.id.clone());
            assert_eq!(earlier, None, "IPU {ipu} is also {}'s", partition.id);
        }
        let record = pod.records().iter().rev().find(|record| record.id == partition.id).unwrap();
        assert_eq!(record.removed, None);
    }
    assert_eq!(u32::try_from(owners.len()).unwrap() + pod.free_ipus(), pod.ipus());
    let mut recorded: Vec<u32> = Vec::new();
    for record in pod.records().iter().filter(|record| record.removed.is_none()) {
        recorded.extend(record.ipus());
    }
    recorded.sort_unstable();
    assert!(owners.into_keys().eq(recorded), "history and listing disagree");
    assert_eq!(double_owners(pod.records()), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_ipu_is_free_or_has_one_owner(
        moves in prop::collection::vec(moves(), 1..80),
        scatter in any::<bool>(),
    ) {
        let placement = if scatter { Placement::Scatter } else { Placement::Lowest };
        let mut pod = Pod::new(hardware(), Settings { placement, ..Settings::default() }).unwrap();
        let mut now = START;
        for one in &moves {
            play(&mut pod, one, &mut now);
            check(&mut pod, now);
        }
        for partition in pod.list("", now).unwrap() {
            pod.remove(&partition.id, true, now).unwrap();
        }
        pod.advance(now + Duration::from_secs(2));
        prop_assert_eq!(pod.free_ipus(), pod.ipus());
        prop_assert!(pod.records().iter().all(|record| record.removed.is_some()));
    }
}
