//! Any legal interleaving of Slurm, driver and controller: nothing leaks, no gate is forgotten.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use ledger::{AdoptedAs, Ending, Event, Seconds, Wait};
use proptest::prelude::*;
use vipu_types::{IpuCount, PartitionId};
use world::{Controller, World};

mod world;

/// One thing that happens.
#[derive(Clone, Debug)]
enum WorldStep {
    Begin { job: u32, restart: u16, order: u32 },
    Prepare { job: u32, restart: u16, order: u32 },
    BeginPrepared { job: u32 },
    Forgo { job: u32 },
    Fini { job: u32, held: bool },
    Fail { job: u32, held: bool },
    KeepOver { pick: u32 },
    Vanish { job: u32 },
    Overdue { job: u32 },
    CarryOut { pick: u32 },
    Ask { pick: u32 },
    Deliver { pick: u32 },
    Meddle { pick: u32 },
    Wear { pick: u32 },
    Unreachable { pick: u32 },
    Configure { trouble: bool },
    Reorder { pick: u32 },
    Retire,
}

fn steps() -> impl Strategy<Value = Vec<WorldStep>> {
    let step = prop_oneof![
        6 => (1..9_u32, 0..2_u16, 0..7_u32).prop_map(|(job, restart, order)| WorldStep::Begin { job, restart, order }),
        4 => (1..9_u32, 0..2_u16, 0..7_u32).prop_map(|(job, restart, order)| WorldStep::Prepare { job, restart, order }),
        4 => (1..9_u32).prop_map(|job| WorldStep::BeginPrepared { job }),
        1 => (1..9_u32).prop_map(|job| WorldStep::Forgo { job }),
        4 => (1..9_u32, any::<bool>()).prop_map(|(job, held)| WorldStep::Fini { job, held }),
        4 => (1..9_u32, any::<bool>()).prop_map(|(job, held)| WorldStep::Fail { job, held }),
        2 => any::<u32>().prop_map(|pick| WorldStep::KeepOver { pick }),
        1 => (1..9_u32).prop_map(|job| WorldStep::Vanish { job }),
        1 => (1..9_u32).prop_map(|job| WorldStep::Overdue { job }),
        24 => any::<u32>().prop_map(|pick| WorldStep::CarryOut { pick }),
        2 => any::<u32>().prop_map(|pick| WorldStep::Ask { pick }),
        6 => any::<u32>().prop_map(|pick| WorldStep::Deliver { pick }),
        1 => any::<u32>().prop_map(|pick| WorldStep::Meddle { pick }),
        1 => any::<u32>().prop_map(|pick| WorldStep::Wear { pick }),
        1 => any::<u32>().prop_map(|pick| WorldStep::Unreachable { pick }),
        1 => any::<bool>().prop_map(|trouble| WorldStep::Configure { trouble }),
        1 => any::<u32>().prop_map(|pick| WorldStep::Reorder { pick }),
        1 => Just(WorldStep::Retire),
    ];
    prop::collection::vec(step, 0..300)
}

fn adoptions() -> impl Strategy<Value = Vec<(Option<AdoptedAs>, u32, u32)>> {
    let kept = AdoptedAs::Kept(Seconds(60));
    let found =
        [Some(AdoptedAs::Starting), Some(AdoptedAs::Running), Some(AdoptedAs::Ending), Some(kept), None];
    let found = prop::sample::select(found.to_vec());
    prop::collection::vec((found, 0..4_u32, any::<u32>()), 0..4)
}

fn play(world: &mut World, step: WorldStep) {
    let reason = || "connection refused".to_owned();
    match step {
        WorldStep::Begin { job, restart, order } => {
            world.begin(job, restart, IpuCount::new(1 << order).unwrap())
        }
        WorldStep::Prepare { job, restart, order } => {
            world.prepare(job, restart, IpuCount::new(1 << order).unwrap());
        }
        WorldStep::BeginPrepared { job } => world.begin_prepared(job),
        WorldStep::Forgo { job } => world.tell(Event::Forgo { job, in_vain: job > 4 }),
        WorldStep::Fini { job, held } => world.fini(job, if held { Ending::Held } else { Ending::Unheld }),
        WorldStep::Fail { job, held } => world.fail(job, if held { Ending::Held } else { Ending::Unheld }),
        WorldStep::KeepOver { pick } => {
            let kept = world.kept();
            if let Some(id) = kept.get(pick as usize % kept.len().max(1)) {
                world.tell(Event::KeepOver(id.clone()));
            }
        }
        WorldStep::Vanish { job } => world.vanish(job),
        WorldStep::Overdue { job } => world.overdue(job),
        WorldStep::CarryOut { pick } => world.carry_out(pick),
        WorldStep::Ask { pick } => world.ask(world.pod(pick)),
        WorldStep::Deliver { pick } => world.deliver(pick),
        WorldStep::Meddle { pick } => world.any(pick).meddle(pick),
        WorldStep::Wear { pick } => world.any(pick).wear(pick),
        WorldStep::Unreachable { pick } => {
            world.tell(Event::Unreachable { pod: world.pod(pick), reason: reason() });
        }
        WorldStep::Configure { trouble } => world.configure(trouble.then(reason)),
        WorldStep::Reorder { pick } => world.reorder(pick),
        WorldStep::Retire => world.tell(Event::Models(vec![])),
    }
}

/// All jobs end, and all that is under way is done.
fn wind_up(world: &mut World) {
    world.configure(None);
    for round in 0..2000 {
        if world.pending.is_empty() && world.ledger.view().claims.is_empty() {
            return;
        }
        let alive: Vec<u32> =
            world.runs.values().filter(|(_, run)| run.alive).map(|(claim, _)| claim.run.job).collect();
        alive.into_iter().for_each(|job| world.fini(job, Ending::Held));
        let early: Vec<u32> = world.ledger.preparations().map(|it| it.claim.run.job).collect();
        early.into_iter().for_each(|job| world.tell(Event::Forgo { job, in_vain: job > 4 }));
        world.kept().into_iter().for_each(|id| world.tell(Event::KeepOver(id)));
        world.carry_out(round * 13);
    }
    panic!("still under way: {:?}, claims {:?}", world.pending, world.ledger.view().claims);
}

proptest! {
    #[test]
    fn nothing_leaks_and_every_gate_is_opened_once(
        (ipus, domain) in prop_oneof![Just((16, 64)), Just((64, 64)), Just((48, 64)), Just((64, 16)), Just((128, 64))],
        controllers in 1..4_usize,
        adopted in adoptions(),
        steps in steps(),
    ) {
        let mut world = World::new((0..controllers).map(|_| Controller::new(ipus, domain)));
        for (job, (found, order, pick)) in (20..).zip(adopted) {
            let size = IpuCount::new(1 << order).unwrap();
            if world.any(job).free() >= 16 {
                world.find(job, size, found, pick);
            }
        }
        for step in steps {
            play(&mut world, step);
        }
        wind_up(&mut world);

        for (claim, run) in world.runs.values() {
            prop_assert_eq!(run.launch.0, run.launch.1, "launch gate of {}", claim.run);
            prop_assert_eq!(run.completion.0, run.completion.1, "completion gate of {}", claim.run);
        }
        let ours = |id: &&PartitionId| id.as_str().starts_with("slurm");
        // Nobody is suspected for longer than an hour.
        world.now.0 += 3_600_000;
        for pick in 0..controllers as u32 {
            world.any(pick).broken.clear();
            prop_assert_eq!(world.any(pick).partitions.keys().find(ours), None);
            world.ask(world.pod(pick));
        }
        while world.listed() {
            world.deliver(0);
        }
        for (view, (_, controller)) in world.ledger.view().models[0].pods.iter().zip(&world.controllers) {
            prop_assert_eq!((&view.trouble, view.free), (&None, controller.free()));
        }
        let one = world.ledger.fits_now(&World::model(), IpuCount::ONE);
        let full = matches!(one, Err(Wait::Full { .. }));
        prop_assert!(one.is_ok() || full);
    }
}
