//! Partitions come up, break, are mended and go, and faults that a test injects.

use std::collections::BTreeSet;

use mock_vipu::{Effect, Fault, Incident, double_owners};
use tonic::Code;

use super::*;

#[test]
fn a_partition_is_active_exactly_when_its_latency_is_over() {
    let mut pod = pod64();
    create(&mut pod, "p", 16, START).unwrap();
    assert_eq!(pod.free_ipus(), 48, "the IPUs are taken at once");
    let just_before = Nanos(after(2).0 - 1);
    assert_eq!(state(&mut pod, "p", just_before), (Ready::PsPending, Operation::PosCreating, String::new()));
    assert!(is_active(&mut pod, "p", after(2)));
}

#[test]
fn the_history_has_exact_times_however_late_the_query() {
    let mut pod = pod64();
    create(&mut pod, "p", 16, START).unwrap();
    pod.remove("p", false, after(1000)).unwrap();
    pod.advance(after(2000));
    let record = &pod.records()[0];
    assert_eq!(record.create_request, START);
    assert_eq!(record.active, Some(after(2)));
    assert_eq!(record.remove_request, Some(after(1000)));
    assert_eq!(record.removed, Some(gone_after(1001)));
    assert_eq!(record.ipus(), (0..16).collect::<Vec<_>>());
    assert_eq!(record.tenures[0].until, Some(gone_after(1001)));
    let operations: Vec<_> = record.events.iter().map(|event| event.operation.as_str()).collect();
    assert_eq!(operations, ["POS_CREATING", "POS_IDLE", "POS_REMOVING", "POS_REMOVING"]);
    let ready: Vec<_> = record.events.iter().map(|event| event.ready.as_str()).collect();
    assert_eq!(ready, ["PS_PENDING", "PS_ACTIVE", "PS_ACTIVE", "PS_REMOVED"]);
}

#[test]
fn removing_holds_the_ipus_until_the_partition_is_gone() {
    let mut pod = pod64();
    create(&mut pod, "p", 64, START).unwrap();
    pod.remove("p", false, after(2)).unwrap();
    assert_eq!(state(&mut pod, "p", after(2)), (Ready::PsActive, Operation::PosRemoving, String::new()));
    assert_eq!(pod.free_ipus(), 0);
    let just_before = Nanos(gone_after(3).0 - 1);
    for at in [after(3), just_before] {
        assert_eq!(state(&mut pod, "p", at), (Ready::PsRemoved, Operation::PosRemoving, String::new()));
        let listed = pod.list("", at).unwrap();
        assert_eq!((listed.len(), listed[0].ready_state()), (1, Ready::PsRemoved));
        pod.remove("p", true, at).unwrap();
    }
    assert_eq!(pod.free_ipus(), 0, "its IPUs are not free yet");
    assert_eq!(create(&mut pod, "q", 4, just_before).unwrap_err().code, Code::ResourceExhausted);
    assert_eq!(pod.status("p", gone_after(3)).unwrap_err().code, Code::NotFound);
    assert_eq!(pod.free_ipus(), 64);
}

#[test]
fn a_partition_can_be_removed_while_it_is_made() {
    let mut pod = pod64();
    create(&mut pod, "p", 64, START).unwrap();
    pod.remove("p", false, after(1)).unwrap();
    pod.advance(after(10));
    assert_eq!((pod.records()[0].active, pod.records()[0].removed), (None, Some(gone_after(2))));
}

#[test]
fn injected_creates_fail_stick_or_are_slow() {
    let mut pod = pod64();
    pod.inject(Fault::new(Effect::CreateError { text: "no sync".into() }).on("bad*").times(1));
    pod.inject(Fault::new(Effect::CreateStuck).on("stuck"));
    pod.inject(Fault::new(Effect::SlowCreate { factor: 10.0 }).on("slow"));
    for id in ["bad1", "bad2", "stuck", "slow"] {
        create(&mut pod, id, 4, START).unwrap();
    }
    let failed = (Ready::PsError, Operation::PosFailed, "no sync".to_owned());
    assert_eq!(state(&mut pod, "bad1", after(2)), failed);
    assert!(is_active(&mut pod, "bad2", after(2)));
    assert!(!is_active(&mut pod, "slow", after(19)));
    assert!(is_active(&mut pod, "slow", after(20)));
    let creating = (Ready::PsPending, Operation::PosCreating, String::new());
    assert_eq!(state(&mut pod, "stuck", after(1_000_000)), creating);
}

#[test]
fn injected_removals_fail_or_stick_unless_forced() {
    let mut pod = pod64();
    pod.inject(Fault::new(Effect::RemoveFail { text: "link busy".into() }).on("fails").times(1));
    pod.inject(Fault::new(Effect::RemoveStuck).on("sticks"));
    for id in ["fails", "sticks"] {
        create(&mut pod, id, 4, START).unwrap();
        pod.remove(id, false, after(2)).unwrap();
    }
    let failed = (Ready::PsError, Operation::PosFailed, "link busy".to_owned());
    assert_eq!(state(&mut pod, "fails", after(3)), failed);
    assert_eq!(state(&mut pod, "sticks", after(99)).1, Operation::PosRemoving);
    assert_eq!(pod.free_ipus(), 56);
    pod.remove("fails", false, after(99)).unwrap();
    pod.remove("sticks", true, after(99)).unwrap();
    pod.advance(gone_after(100));
    assert_eq!(pod.free_ipus(), 64);
}

#[test]
fn a_repeated_remove_does_not_delay_the_removal() {
    let mut pod = pod64();
    create(&mut pod, "p", 4, START).unwrap();
    let half = Duration::from_millis(500);
    pod.remove("p", true, after(2)).unwrap();
    pod.remove("p", true, after(2) + half).unwrap();
    pod.remove("p", false, after(2) + half).unwrap();
    assert!(pod.status("p", gone_after(3)).is_err());
    assert_eq!(pod.records()[0].remove_request, Some(after(2)));
}

#[test]
fn an_empty_config_can_be_injected() {
    let mut pod = pod64();
    pod.inject(Fault::new(Effect::ConfigEmpty).times(1));
    create(&mut pod, "p", 4, START).unwrap();
    assert_eq!(pod.config("p", after(2)).unwrap().gcd_configs, []);
    assert_eq!(pod.config("p", after(2)).unwrap().gcd_configs.len(), 1);
}

/// Breaks an active partition.
fn break_down(pod: &mut Pod, id: &str, now: Nanos) {
    let error = Incident::PartitionError { partition: id.into(), text: "sync lost".into() };
    pod.cause(&error, now).unwrap();
}

#[test]
fn an_error_is_mended_three_times() {
    let mut pod = pod64();
    create(&mut pod, "p", 4, START).unwrap();
    for error in [3, 6, 9] {
        break_down(&mut pod, "p", after(error));
        let resetting = (Ready::PsPending, Operation::PosResetting, "sync lost".to_owned());
        assert_eq!(state(&mut pod, "p", after(error)), resetting);
        assert!(is_active(&mut pod, "p", after(error + 2)));
    }
    break_down(&mut pod, "p", after(12));
    let failed = (Ready::PsError, Operation::PosFailed, "sync lost".to_owned());
    assert_eq!(state(&mut pod, "p", after(99)), failed);
    assert_eq!(pod.records()[0].active, Some(after(2)), "the first time counts");
}

#[test]
fn other_hands_show_stale_and_incomplete_states() {
    let mut pod = pod64();
    pod.inject(Fault::new(Effect::OtherHands { seed: 1 }));
    let (mut hidden, mut pending, mut removed, mut lists) = (0, 0, 0, BTreeSet::new());
    for round in 0..20 {
        let at = |millis| after(60 * round) + Duration::from_millis(millis);
        create(&mut pod, "p", 4, at(0)).unwrap();
        create(&mut pod, "q", 4, at(0)).unwrap();
        hidden += u32::from(pod.status("p", at(0)).is_err());
        pending += u32::from(state(&mut pod, "p", at(5000)).0 == Ready::PsPending);
        lists.insert(pod.list("", at(5000)).unwrap().len());
        pod.remove("p", false, at(5000)).unwrap();
        pod.remove("q", false, at(5000)).unwrap();
        // A removal begins within 0.5 s, takes 1 s and is shown for 0.3 s: `p` is gone within 1.8 s.
        let shown = pod.status("p", at(7000)).map(|it| it.ready_state());
        if create(&mut pod, "p", 4, at(7000)).is_err_and(|kept| kept.code == Code::AlreadyExists) {
            removed += u32::from(shown == Ok(Ready::PsRemoved));
        }
        pod.remove("p", true, at(20_000)).ok();
    }
    assert!(hidden > 0 && pending > 0 && removed > 0, "{hidden} {pending} {removed}");
    assert_eq!(lists, [0, 1, 2].into());
    pod.advance(after(10_000));
    assert_eq!((pod.free_ipus(), double_owners(pod.records()).len()), (64, 0));
}

fn agent_down(name: &str) -> Incident {
    Incident::AgentDown { agent: name.to_owned() }
}

#[test]
fn a_dead_agent_breaks_its_partitions_and_takes_its_room() {
    let mut pod = pod(Hardware::preset("pod16").unwrap());
    create(&mut pod, "p", 8, START).unwrap();
    create(&mut pod, "q", 4, START).unwrap();
    pod.advance(after(2));
    pod.cause(&agent_down("ag2"), after(2)).unwrap();
    pod.cause(&agent_down("ag4"), after(2)).unwrap();
    let failed = (Ready::PsError, Operation::PosFailed, "agent ag2 is unreachable".to_owned());
    assert_eq!(state(&mut pod, "p", after(99)), failed);
    assert!(is_active(&mut pod, "q", after(99)));
    assert_eq!(create(&mut pod, "r", 4, after(99)).unwrap_err().code, Code::ResourceExhausted);
    pod.remove("p", false, after(99)).unwrap();
    assert_eq!(state(&mut pod, "p", after(100)), failed);
    pod.remove("p", true, after(100)).unwrap();
    assert!(pod.status("p", gone_after(101)).is_err());
    assert_eq!(pod.free_ipus(), 12);
}

#[test]
fn only_a_partition_that_is_relocated_moves_off_a_broken_ipu() {
    let mut pod = pod64();
    create(&mut pod, "p", 4, START).unwrap();
    pod.advance(after(2));
    pod.cause(&Incident::IpuFault { agent: "ag1".into(), ipu: 3 }, after(2)).unwrap();
    let failed = (Ready::PsError, Operation::PosFailed, "IPU 3 of ag1 is in error".to_owned());
    assert_eq!(state(&mut pod, "p", after(99)), failed);
    let relocate = Incident::Relocate { partition: "p".into() };
    pod.cause(&relocate, after(99)).unwrap();
    assert_eq!(pod.cause(&relocate, after(100)).unwrap_err().code, Code::FailedPrecondition);
    assert!(is_active(&mut pod, "p", after(101)));
    assert_eq!(ipus(&mut pod, "p", after(101)), [4, 5, 6, 7]);
    assert_eq!((pod.records()[0].tenures.len(), pod.free_ipus()), (2, 60));
}

#[test]
fn foreign_partitions_appear() {
    let mut pod = pod64();
    let foreign = |id: &str, first| Incident::Foreign { id: id.into(), size: 8, first };
    pod.cause(&foreign("some body's", Some(16)), START).unwrap();
    assert_eq!(ipus(&mut pod, "some body's", START), (16..24).collect::<Vec<_>>());
    assert!(is_active(&mut pod, "some body's", START));
    assert_eq!(pod.cause(&foreign("askew", Some(4)), START).unwrap_err().code, Code::InvalidArgument);
    assert_eq!(pod.cause(&foreign("taken", Some(16)), START).unwrap_err().code, Code::ResourceExhausted);
    pod.cause(&foreign("slurm_1", None), START).unwrap();
    assert_eq!(create(&mut pod, "slurm_1", 8, START).unwrap_err().code, Code::AlreadyExists);
}

#[test]
fn partitions_vanish_in_any_state() {
    let mut pod = pod64();
    let vanish = |id: &str| Incident::Vanish { partition: id.into() };
    pod.inject(Fault::new(Effect::RemoveStuck));
    for id in ["coming", "stuck"] {
        create(&mut pod, id, 32, START).unwrap();
    }
    pod.cause(&vanish("coming"), after(1)).unwrap();
    pod.remove("stuck", false, after(9)).unwrap();
    pod.cause(&vanish("stuck"), after(60)).unwrap();
    assert_eq!(pod.free_ipus(), 64);
    assert_eq!(pod.records()[1].removed, Some(after(60)));
    assert_eq!(pod.cause(&vanish("stuck"), after(60)).unwrap_err().code, Code::NotFound);
}

#[test]
fn a_restored_pod_continues() {
    let mut earlier = pod64();
    create(&mut earlier, "made", 4, START).unwrap();
    create(&mut earlier, "going", 8, START).unwrap();
    earlier.remove("going", false, after(3)).unwrap();
    create(&mut earlier, "coming", 16, after(3)).unwrap();
    earlier.cause(&agent_down("ag16"), after(3)).unwrap();
    let saved = serde_json::to_string(&earlier.save()).unwrap();

    let mut later = pod64();
    later.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    assert!(is_active(&mut later, "made", after(60)));
    assert_eq!(later.records()[2].active, Some(after(5)));
    assert!(later.status("going", after(60)).is_err());
    assert_eq!(later.free_ipus(), 64 - 20);
    assert_eq!(create(&mut later, "all", 64, after(60)).unwrap_err().code, Code::ResourceExhausted);

    let mut smaller = pod(Hardware::preset("pod16").unwrap());
    assert!(smaller.restore(serde_json::from_str(&saved).unwrap()).is_err());
}
