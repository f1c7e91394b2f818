use std::cmp::Reverse;

use proptest::prelude::*;
use vipu_types::{IpuCount, ModelName};

use super::*;
use crate::{LicenseReservation, LicenseReservations, Seconds, span};

const NOW: Seconds = Seconds(1000);

fn after(seconds: i64) -> Seconds {
    Seconds(NOW.0 + seconds)
}

fn wish(job: u32, size: u32, duration: i64) -> Wish {
    Wish {
        model: ModelName::new("pod").unwrap(),
        size: IpuCount::new(size.into()).unwrap(),
        rank: Rank { in_reservation: false, tier: 1, priority: 1, job: Reverse(job) },
        duration: span(duration),
        controllers: None,
        components: Default::default(),
    }
}

/// The first start of a job in this rank.
fn first_start(free_times: &FreeTimes, wish: &Wish) -> Option<Seconds> {
    free_times.start_behind(wish, NOW, NOW, None).map(|(_, slot)| slot.start)
}

fn plan(job: u32, size: u32, duration: i64) -> Plan {
    Plan {
        wish: wish(job, size, duration),
        not_before: NOW,
        seen: NOW,
        ranked: NOW,
        told: None,
        behind: None,
    }
}

/// A Pod of 64 IPUs in one domain, with some IPUs taken until these times.
fn pod64(taken: &[(std::ops::Range<usize>, Seconds)]) -> Timeline {
    Timeline::new(64, &IpuCount::new(64).unwrap().into(), taken.iter().cloned())
}

/// Free times without licences.
fn laid(pods: Vec<Timeline>, plans: Vec<Plan>) -> FreeTimes {
    FreeTimes::new(pods, OtherNeeds::default(), plans)
}

fn starts(pods: Vec<Timeline>, plans: Vec<Plan>) -> Vec<Option<Seconds>> {
    laid(pods, plans).plans.into_iter().map(|laid| laid.start).collect()
}

#[test]
fn a_plan_starts_when_its_block_is_free() {
    let pod = pod64(&[(0..16, after(50)), (16..32, after(20)), (32..48, after(90)), (48..64, after(30))]);
    for (size, start) in [(16, 20), (32, 50), (64, 90)] {
        assert_eq!(starts(vec![pod.clone()], vec![plan(1, size, 10)]), [Some(after(start))], "{size} IPUs");
    }
    assert_eq!(starts(vec![pod64(&[(0..1, NEVER)])], vec![plan(1, 64, 10)]), [None]);
    assert_eq!(starts(vec![pod64(&[(0..1, NEVER)]), pod], vec![plan(1, 64, 10)]), [Some(after(90))]);
}

#[test]
fn plans_are_laid_behind_each_other() {
    let pod = pod64(&[(0..64, after(100))]);
    let mix = vec![plan(1, 64, 10), plan(2, 16, 20), plan(3, 16, 30), plan(4, 32, 5), plan(5, 64, 1)];
    let expected = [100, 110, 110, 110, 140].map(|seconds| Some(after(seconds)));
    assert_eq!(starts(vec![pod], mix), expected);
}

#[test]
fn a_job_that_ends_in_time_uses_the_gap_before_a_plan() {
    let free_times = laid(vec![pod64(&[(0..32, after(100))])], vec![plan(1, 64, 10)]);
    assert_eq!(first_start(&free_times, &wish(2, 32, 100)), Some(NOW));
    assert_eq!(first_start(&free_times, &wish(2, 32, 101)), Some(after(110)));
    assert_eq!(free_times.leaves_alone(0, &wish(2, 32, 100), NOW), Ok(()));
    assert_eq!(free_times.leaves_alone(0, &wish(2, 32, 101), NOW), Err(1));
    assert_eq!(free_times.leaves_alone(0, &wish(0, 32, 101), NOW), Ok(()), "it is before job 1 in line");
}

#[test]
fn the_controller_may_put_a_partition_anywhere() {
    // Job 1 waits for the lower half. One IPU of the upper half is harmless, but the controller may choose
    // another place.
    let pod = pod64(&[(0..16, after(100)), (48..64, NEVER)]);
    let free_times = laid(vec![pod], vec![plan(1, 32, 10)]);
    assert_eq!(free_times.leaves_alone(0, &wish(2, 1, 1000), NOW), Err(1));
    let place = free_times.harmless_place(0, &wish(2, 1, 1000), NOW).unwrap();
    assert_eq!(place.into_iter().flatten().collect::<Vec<_>>(), [32]);
    // With two blocks to wait for, one of them always remains.
    let pod = pod64(&[(0..16, after(100)), (48..64, after(100))]);
    let free_times = laid(vec![pod], vec![plan(1, 32, 10)]);
    assert_eq!(free_times.leaves_alone(0, &wish(2, 1, 1000), NOW), Ok(()));
}

#[test]
fn a_slot_breaks_up_as_little_as_it_can() {
    let pod = Timeline::new(192, &IpuCount::new(64).unwrap().into(), [(64..96, NEVER), (128..176, NEVER)]);
    let slot = |size| pod.earliest(IpuCount::new(size).unwrap(), span(10), NOW, 0).unwrap().ipus[0].clone();
    assert_eq!([16, 32, 64].map(slot), [176..192, 96..128, 0..64]);
}

#[test]
fn large_partitions_take_any_whole_domains() {
    let mut pod = Timeline::new(256, &IpuCount::new(64).unwrap().into(), []);
    pod.occupy(0..1, after(100));
    pod.occupy(70..71, after(50));
    let start = |size| pod.earliest(IpuCount::new(size).unwrap(), span(10), NOW, 0).map(|slot| slot.start);
    assert_eq!([128, 256].map(start), [Some(NOW), Some(after(100))]);
    let free_times = laid(vec![pod], vec![plan(1, 128, 10)]);
    assert_eq!(
        first_start(&free_times, &wish(2, 64, 90)),
        Some(after(10)),
        "it waits for job 1 or for job 1's end"
    );
}

/// A Pod of 16 IPUs in domains of 8, with some IPUs taken, a few of them for ever.
fn small_pods() -> impl Strategy<Value = Timeline> {
    let taken = prop::collection::vec((0..16_usize, 1..5_usize, 0..40_i64), 0..8);
    taken.prop_map(|taken| {
        let mut pod = Timeline::new(16, &IpuCount::new(8).unwrap().into(), []);
        for (first, count, end) in taken {
            let until = if end == 0 { NEVER } else { after(end) };
            pod.occupy(first..(first + count).min(16), until);
        }
        pod
    })
}

fn small_plans() -> impl Strategy<Value = Vec<Plan>> {
    let one = (0..5_u32, 1..30_i64, 0..20_i64);
    prop::collection::vec(one, 0..5).prop_map(|plans| {
        let plan = |(n, (order, duration, later)): (usize, (u32, i64, i64))| Plan {
            not_before: after(later),
            ..plan(n as u32 + 1, 1 << order, duration)
        };
        plans.into_iter().enumerate().map(plan).collect()
    })
}

/// All aligned places with this number of free IPUs.
fn all_places(pod: &Timeline, size: usize) -> Vec<Ipus> {
    if size == 16 {
        let whole = [0..8, 8..16].to_vec();
        return if pod.places_now(IpuCount::new(16).unwrap(), NOW).is_empty() { vec![] } else { vec![whole] };
    }
    let blocks = (0..16 / size).map(|n| n * size..(n + 1) * size);
    let free = pod.with_plans(0);
    let is_free = |block: &std::ops::Range<usize>| {
        let mut only = free.clone();
        if block.start > 0 {
            only.occupy(0..block.start, NEVER);
        }
        only.occupy(block.end..16, NEVER);
        only.earliest(IpuCount::new(size as u64).unwrap(), span(1), NOW, 0)
            .is_some_and(|slot| slot.start == NOW)
    };
    blocks.filter(is_free).map(|block| vec![block]).collect()
}

proptest! {
    /// The tried places stand for all others. For the first job in line the result is that of trying every
    /// place. Plans behind it are laid one after the other, which now and then depends on the place.
    #[test]
    fn the_kinds_of_places_stand_for_all(
        pod in small_pods(), plans in small_plans(), order in 0..5_u32, duration in 1..60_i64,
    ) {
        let first = plans.into_iter().take(1).collect();
        let free_times = laid(vec![pod.clone()], first);
        let newcomer = wish(99, 1 << order, duration);
        let harm = all_places(&pod, 1 << order).iter().any(|place| {
            free_times.pushed_back(0, place, after(duration), free_times.plans.len()).is_some()
        });
        prop_assert_eq!(free_times.leaves_alone(0, &newcomer, NOW).is_err(), harm);
    }

    /// No two plans have an IPU at one time, no plan has a taken IPU, and no plan could start earlier.
    #[test]
    fn plans_do_not_meet(pod in small_pods(), plans in small_plans()) {
        let mut pods = [pod.clone()];
        let allowed = AllowedStarts::new(OtherNeeds::default());
        let starts: Vec<_> =
            plans.iter().enumerate().map(|(n, plan)| lay_one(&mut pods, &allowed, plan, n)).collect();
        let mut used = std::collections::HashSet::new();
        for (n, (plan, start)) in plans.iter().zip(&starts).enumerate() {
            let slot = first_slot(&pods, &allowed, &plan.wish, plan.not_before, n).map(|(_, slot)| slot);
            prop_assert_eq!(slot.as_ref().map(|slot| slot.start), *start);
            let Some(slot) = slot else { continue };
            prop_assert!(slot.start >= plan.not_before);
            prop_assert_eq!(slot.ipus.iter().map(ExactSizeIterator::len).sum::<usize>(), plan.wish.size.get() as usize);
            for second in slot.start.0..slot.start.later_by(plan.wish.duration).0 {
                for ipu in slot.ipus.iter().cloned().flatten() {
                    prop_assert!(used.insert((second, ipu)), "IPU {} is given twice", ipu);
                }
            }
            let mut alone = pod.clone();
            slot.ipus.iter().for_each(|ipus| alone.occupy(ipus.clone(), slot.start));
            prop_assert_eq!(&alone.earliest(plan.wish.size, span(1), slot.start, 0).map(|slot| slot.start), start);
        }
    }
}

fn reserved(from: i64, until: i64, ipus: u32) -> LicenseReservation {
    LicenseReservation { from: after(from), until: after(until), ipus }
}

#[test]
fn a_plan_leaves_the_reserved_number_of_ipus_free() {
    let starts = |in_use: &[(Seconds, u32)], reserved: &[LicenseReservation], plans| {
        let reservations = LicenseReservations { total: 64, reserved: reserved.to_vec() };
        let licenses = Licenses { reservations, in_use: in_use.to_vec() };
        let others = OtherNeeds { licenses, ..OtherNeeds::default() };
        let taken: Vec<_> = in_use.iter().map(|(end, ipus)| (0..*ipus as usize, *end)).collect();
        let laid = FreeTimes::new(vec![pod64(&taken)], others, plans).plans;
        laid.into_iter().map(|laid| laid.start.map(|start| start.0 - NOW.0)).collect::<Vec<_>>()
    };
    let night = [reserved(100, 200, 32)];
    // A job that ends before the reservation, one that lasts into it, and one that leaves enough.
    assert_eq!(starts(&[], &night, vec![plan(1, 64, 100)]), [Some(0)]);
    assert_eq!(starts(&[], &night, vec![plan(1, 64, 101)]), [Some(200)]);
    assert_eq!(starts(&[], &night, vec![plan(1, 32, 101)]), [Some(0)]);
    // Slurm counts what is in use at the start.
    assert_eq!(starts(&[(after(50), 16)], &night, vec![plan(1, 32, 101)]), [Some(50)]);
    // The plan of a job takes licences from those behind it.
    assert_eq!(starts(&[], &night, vec![plan(1, 32, 60), plan(2, 16, 500)]), [Some(0), Some(60)]);
    // Two reservations at one time, and one that leaves nothing.
    let two = [reserved(0, 90, 32), reserved(50, 300, 32)];
    assert_eq!(starts(&[], &two, vec![plan(1, 32, 80)]), [Some(90)]);
    assert_eq!(starts(&[], &[reserved(0, 90, 64)], vec![plan(1, 1, 10)]), [Some(90)]);
    // The cluster never has enough.
    let reservations = LicenseReservations { total: 8, reserved: night.to_vec() };
    let licenses = Licenses { reservations, in_use: Vec::new() };
    let others = OtherNeeds { licenses, ..OtherNeeds::default() };
    assert_eq!(FreeTimes::new(vec![pod64(&[])], others, vec![plan(1, 16, 10)]).plans[0].start, None);
    let mut inside = plan(1, 64, 500);
    inside.wish.rank.in_reservation = true;
    assert_eq!(starts(&[], &night, vec![inside]), [Some(0)]);
}
