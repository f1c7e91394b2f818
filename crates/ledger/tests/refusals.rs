//! Controllers that have less room than their listing says: the picture is set right, and no job is started
//! and refused in a loop.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "the world is shared")]

use proptest::prelude::*;
use vipu_types::IpuCount;
use world::{Controller, World};

mod world;

/// Takes in all listings that were asked for.
fn listen(world: &mut World) {
    world.ask(world.pod(0));
    while world.listed() {
        world.deliver(0);
    }
}

/// Carries out everything until nothing is under way; creates that are refused are tried again and again.
fn settle(world: &mut World) {
    for _ in 0..100 {
        if world.pending.is_empty() {
            return;
        }
        // Picks with which nothing fails by itself.
        (14..21).for_each(|pick| world.carry_out(pick));
        listen(world);
    }
    panic!("it goes on and on: {:?}", world.pending);
}

proptest! {
    #[test]
    fn who_is_refused_waits(
        (ipus, domain) in prop_oneof![Just((16, 64)), Just((64, 64)), Just((64, 16)), Just((128, 64))],
        broken in prop::collection::vec(any::<u32>(), 0..6),
        tells in any::<bool>(),
        orders in prop::collection::vec(0..7_u32, 1..12),
    ) {
        let mut world = World::new([Controller::new(ipus, domain)]);
        broken.into_iter().for_each(|pick| world.any(0).wear(pick | 1));
        world.any(0).tells = tells;
        settle(&mut world);
        for (job, order) in (1..).zip(orders) {
            let size = IpuCount::new(1 << order).unwrap();
            // What was removed for the job before explains no refusal any more.
            world.now.0 += 10_000;
            if world.ledger.fits_now(&World::model(), size).is_err() {
                continue;
            }
            world.begin(job, 0, size);
            settle(&mut world);
            let has_it = world.ledger.live_claim(job).is_some();
            let may_try = world.ledger.fits_now(&World::model(), size).is_ok();
            prop_assert!(has_it || !may_try, "job {job} was refused and may try again");
        }
    }
}
