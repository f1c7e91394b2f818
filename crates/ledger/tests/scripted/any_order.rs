//! Events of Slurm, driver and controller in any order: every gate is opened, and each answer that a claim
//! waits for comes. Partitions stay idle, or none does. A run is written like its partition.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::script::{
    Scripted, asks, drain, empty_pod, event_of, id, listing, pod, run_of, scope, seen, wish,
};
use ledger::{Awaits, ClaimView, Event, IdleRules, KeepIdleFor, ModelFacts};
use proptest::prelude::*;
use vipu_types::Shape;

const JOBS: std::ops::Range<u32> = 1..6;

/// A ledger, and the state of its surroundings. Runs and actions are written as in scripts.
struct Outside {
    scripted: Scripted,
    idle: IdleRules,
    /// Actions without an answer yet.
    under_way: Vec<String>,
    /// Begun runs that Slurm has not ended.
    alive: BTreeSet<String>,
    /// The job that has each partition, unless it is the one in the partition's id.
    jobs: BTreeMap<String, u32>,
    /// The number of times that the launch gate and the completion gate of each run are raised.
    gates: BTreeMap<String, [i32; 2]>,
}

impl Outside {
    fn tell(&mut self, event: Event) {
        let actions = self.scripted.tell(event);
        for action in actions.split(", ") {
            let words: Vec<_> = action.split(' ').chain([""]).collect();
            let named = words.iter().position(|word| *word == "for").map_or(words[1], |at| words[at + 1]);
            if ["launch", "complete", "complete-both", "drop", "keep", "await-nodes", "reuse"]
                .contains(&words[0])
            {
                let wanted = job_of(&self.jobs, words[1]);
                assert_eq!(job_of(&BTreeMap::new(), named), wanted, "{action} is for another job");
            }
            let mut open = |gate: usize| self.gates.get_mut(words[1]).unwrap()[gate] -= 1;
            match words[0] {
                "launch" | "drop" => open(0),
                "complete" => open(1),
                "complete-both" => [0, 1].into_iter().for_each(&mut open),
                "cancel" => {
                    let create = format!("create {}", words[1]);
                    let at = self.under_way.iter().position(|it| *it == create).unwrap();
                    self.under_way[at] = format!("give-up {}", words[1]);
                }
                "reuse" | "reset" => self.under_way.push(format!("create {}", words[1])),
                "idle" | "idle-reset" => self.under_way.push(format!("idle {}", words[1])),
                "remove" => assert!(!self.is_being_made(words[1]), "{action} overtakes its create"),
                _ => {}
            }
            if ["create", "launch", "fail", "back", "keep", "await-nodes", "remove"].contains(&words[0]) {
                self.under_way.push(format!("{} {}", words[0], words[1]));
            }
        }
        for view in self.scripted.ledger.view().claims {
            let run = &run_of(&view.claim);
            let comes = |what: &str| self.under_way.contains(&format!("{what} {run}"));
            let is_right = match view.phase.awaits() {
                Awaits::Create => self.is_being_made(run),
                Awaits::Launch => comes("launch"),
                Awaits::RunFailed => comes("fail") || comes("back"),
                Awaits::Record => comes("keep"),
                Awaits::Nodes => comes("await-nodes"),
                Awaits::Removal => comes("remove"),
                Awaits::JobEnd => self.alive.contains(run),
                Awaits::Idle => comes("idle"),
                Awaits::JobStart | Awaits::KeepEnd | Awaits::Reuse => !self.alive.contains(run),
            };
            assert!(is_right, "nothing comes for {run}, {:?}: {:?}", view.phase, self.under_way);
        }
    }

    fn play(&mut self, event: &str) {
        self.tell(event_of(event));
    }

    /// Begins or prepares a job if there is room.
    fn start(&mut self, what: &str, job: u32, restart: u16) {
        let (ledger, now) = (&self.scripted.ledger, self.scripted.now);
        let prepared = ledger.preparation(job).filter(|it| it.ready.is_some() && what == "begin");
        let may =
            asks(&self.scripted, "pod64", 16) == "fits" && (what == "begin" || ledger.may_prepare(now, job));
        let (wish, pod) = (wish(job, 16, 60), id("pod64", "vipu"));
        let idle = || ledger.idle_for(&wish, &pod.controller, 1000, Shape::default());
        let idle = may.then(idle).flatten().map(|(partition, _)| partition);
        let new = may.then(|| ledger.new_id(now, &id("pod64", "vipu").model, job, restart)).flatten();
        let restart = prepared.as_ref().map_or(restart, |it| it.claim.run.restart);
        let known = prepared.map(|it| it.claim.partition).or(idle);
        let is_known = known.is_some();
        let Some(partition) = known.or(new) else { return };
        let run = partition.as_str().trim_start_matches("slurm_").to_owned();
        let jobs = &self.jobs;
        self.alive.retain(|other| job_of(jobs, other) != job);
        self.jobs.insert(run.clone(), job);
        let gates = self.gates.entry(run.clone()).or_default();
        if what == "begin" {
            gates[0] += 1;
            self.alive.insert(run.clone());
        }
        let of_job = if is_known { format!("{job}r{restart}") } else { run.clone() };
        self.play(&format!("{what} {of_job} on {run}"));
        // Slurm takes the launch gate back if the partition is already there.
        if what == "begin" && self.scripted.ledger.is_launched(job) {
            self.gates.entry(run).and_modify(|gates| gates[0] -= 1);
        }
    }

    /// Ends the run of a job as Slurm does, by `fini` or `fails`.
    fn end(&mut self, what: &str, job: u32, is_held: bool) {
        let run = self.scripted.ledger.live_claim(job).map(run_of);
        let is_held = is_held && run.is_some();
        self.alive.retain(|other| Some(other) != run.as_ref());
        run.and_then(|run| self.gates.get_mut(&run)).into_iter().for_each(|it| it[1] += i32::from(is_held));
        self.play(&format!("{what} {job} {}", if is_held { "held" } else { "" }));
    }

    /// Answers the oldest action of one partition.
    fn answer(&mut self, pick: u32) {
        let of = |action: &str| action.split_once(' ').map(|(_, run)| run.to_owned());
        let Some(picked) = self.under_way.get(pick as usize % self.under_way.len().max(1)) else { return };
        let (picked, pick) = (of(picked), pick / 7);
        let at = self.under_way.iter().position(|action| of(action) == picked).unwrap();
        let (what, run) = self.under_way[at].split_once(' ').unwrap();
        let (is_alive, run) = (self.alive.contains(run), run.to_owned());
        let answer = match what {
            "create" | "give-up" if pick.is_multiple_of(6) => return self.play(&format!("started {run}")),
            "create" if pick % 6 == 1 => return self.play(&format!("no-room {run}")),
            "give-up" if pick % 6 == 1 => "cancelled",
            "create" | "give-up" if pick % 6 == 2 => "failed",
            "create" | "give-up" => "up",
            "launch" if is_alive => "launched",
            "fail" | "back" if is_alive => "fini",
            "keep" => "recorded",
            "await-nodes" => "nodes-done",
            "idle" if pick.is_multiple_of(4) => "not-idle",
            "idle" => "idle",
            "remove" => "gone",
            _ => "vanished",
        };
        self.under_way.remove(at);
        match answer {
            "fini" => self.end("fini", job_of(&self.jobs, &run), pick.is_multiple_of(2)),
            answer => self.play(&format!("{answer} {run}")),
        }
    }

    /// Tells this event for each of these claims.
    fn each(&mut self, event: &str, which: impl Fn(&ClaimView) -> bool) {
        let claims = self.scripted.ledger.view().claims.into_iter().filter(which);
        claims.for_each(|it| self.play(&format!("{event} {}", run_of(&it.claim))));
    }

    fn is_being_made(&self, run: &str) -> bool {
        ["create", "give-up"].iter().any(|what| self.under_way.contains(&format!("{what} {run}")))
    }

    /// Tells a listing of all partitions that were made, or of all but one. Each has a quarter of the Pod.
    /// Now and then others have the rest.
    fn list(&mut self, pick: u32) {
        let runs: Vec<_> = self.scripted.ledger.view().claims.iter().map(|it| run_of(&it.claim)).collect();
        let made = runs.iter().filter(|run| !self.is_being_made(run)).take(4);
        let quarters = (0..4).map(|quarter| quarter * 16..(quarter + 1) * 16);
        let mut there: Vec<_> =
            made.zip(quarters).map(|(run, places)| seen(&format!("slurm_{run}"), places)).collect();
        if pick.is_multiple_of(3) {
            there.push(seen("theirs", there.len() as u32 * 16..64));
        }
        there.drain(..there.len().min(usize::from(pick.is_multiple_of(8))));
        self.scripted.now.0 += 10_000;
        self.tell(listing(&self.scripted, 64, there));
    }

    fn step(&mut self, (what, job, pick): (u32, u32, u32)) {
        let is_even = pick.is_multiple_of(2);
        match what {
            0..6 => self.start("begin", job, (pick % 2) as u16),
            6..9 => self.start("prepare", job, (pick % 2) as u16),
            9 => self.play(&format!("forgo {job} {}", if is_even { "in-vain" } else { "" })),
            10..13 => self.end("fini", job, is_even),
            13..15 => self.end("fails", job, is_even),
            15 => self.each("keep-over", |it| it.phase.is_kept()),
            16 => self.each("overdue", |it| it.claim.run.job == job),
            17 => {
                let trouble = is_even.then(|| "vipu.conf: no ApiHost".into());
                self.tell(Event::Models(vec![ModelFacts {
                    trouble,
                    idle: self.idle.clone(),
                    ..pod("pod64")
                }]));
            }
            18 => self.play("away 1"),
            // Slurm loses a run that it has not launched, without an event.
            19 => self.alive.retain(|run| job_of(&self.jobs, run) != job || self.gates[run][0] == 0),
            20 if is_even => self.tell(drain("pod64", None)),
            20 => self.tell(Event::Resume(scope("pod64", None))),
            21..26 => self.list(pick),
            _ => self.answer(pick),
        }
    }

    /// Ends all jobs, and answers all actions under way.
    fn wind_up(&mut self) {
        self.idle = IdleRules::default();
        self.tell(Event::Models(vec![pod("pod64")]));
        for round in 0..2000 {
            if self.scripted.ledger.view().claims.is_empty() {
                return;
            }
            JOBS.for_each(|job| self.end("fini", job, true));
            JOBS.for_each(|job| self.play(&format!("forgo {job}")));
            self.each("keep-over", |it| it.phase.is_kept());
            self.answer(round * 13);
        }
        panic!("still under way: {:?}, {:?}", self.under_way, self.scripted.ledger.view().claims);
    }
}

fn job_of(jobs: &BTreeMap<String, u32>, run: &str) -> u32 {
    jobs.get(run).copied().unwrap_or_else(|| run.split(['r', 'p']).next().unwrap().parse().unwrap())
}

proptest! {
    #[test]
    fn nothing_leaks_and_every_gate_is_opened_once(
        steps in prop::collection::vec((0..52_u32, JOBS, any::<u32>()), 0..300),
        keep in 0..2_u64,
    ) {
        let (under_way, alive, jobs, gates) = Default::default();
        let (keep, keep_for) = (Duration::from_secs(keep * 60), KeepIdleFor::AnyJob);
        let idle = IdleRules { keep, keep_for, ..IdleRules::default() };
        let mut outside = Outside { scripted: empty_pod(), idle: idle.clone(), under_way, alive, jobs, gates };
        outside.tell(Event::Models(vec![ModelFacts { idle, ..pod("pod64") }]));
        steps.into_iter().for_each(|step| outside.step(step));
        outside.wind_up();
        outside.tell(Event::Resume(scope("pod64", None)));
        prop_assert_eq!(outside.gates.iter().find(|(_, gates)| **gates != [0, 0]), None);
        // No IPU is suspect for longer than an hour.
        outside.scripted.now.0 += 3_600_000;
        outside.tell(Event::Models(vec![pod("pod64")]));
        outside.list(1);
        prop_assert_eq!(asks(&outside.scripted, "pod64", 64), "fits");
    }
}
