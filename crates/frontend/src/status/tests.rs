use std::cmp::Reverse;
use std::time::Duration;

use ledger::{Action, Claim, Ending, Event, KnownJobs, ModelFacts, WholeTimes, Wish};
use vipu_types::{JobRun, PartitionId, Placement, PodId, Shape};

use super::seen_jobs::LatestEnd;
use super::seen_jobs::tests::{held, in_line, unlimited};
use super::*;
use crate::clocks_and_queues::Outside;

pub(super) const NOW: Seconds = Seconds(1_800_000_000);

/// Does nothing with what the front end asks for.
pub(crate) struct Nothing;

impl Outside for Nothing {
    fn now(&self) -> Millis {
        Millis(1000)
    }
    fn unix_time(&self) -> Seconds {
        NOW
    }
    fn local_time(&self, at: Seconds) -> String {
        at.0.to_string()
    }
    fn carry_out(&self, _: Vec<Action>) {}
    fn note_launched(&self, _: Claim, _: Seconds) {}
    fn ask_host(&self, _: HostTask) {}
    fn is_switched_off(&self) -> bool {
        false
    }
}

/// The claim of a job's first run to one IPU.
pub(crate) fn claim(job: u32) -> Claim {
    Claim {
        partition: PartitionId::of_run("slurm", job, 0).unwrap(),
        run: JobRun { job, restart: 0, start: 0 },
        task: None,
        user: 1000,
        model: ModelName::new("pod64").unwrap(),
        controller: "a:8090".parse().unwrap(),
        size: IpuCount::ONE,
        shape: Shape::OPEN,
        slurm_partition: None,
        ipus: Vec::new(),
        nodes: Vec::new(),
    }
}

/// Has a scheduler ask for the IPUs of job 7 on a Pod that is too small for it.
fn ask(frontend: &Frontend, now: Seconds) {
    let model = ModelName::new("pod64").unwrap();
    let rank = Rank { in_reservation: false, tier: 1, priority: 100, job: Reverse(7) };
    let size = IpuCount::new(32).unwrap();
    let wish = Wish {
        model,
        size,
        rank,
        duration: Duration::from_secs(3600),
        controllers: None,
        components: Default::default(),
    };
    let jobs = KnownJobs {
        now,
        ends: HashMap::new(),
        expected: HashMap::new(),
        patience: Duration::from_secs(600),
        whole_times: WholeTimes::default(),
    };
    assert!(frontend.ledger().may_start(&wish, &jobs).is_err());
}

fn site() -> Frontend {
    let frontend = Frontend::new(Box::new(Nothing));
    let pod = PodId { model: ModelName::new("pod64").unwrap(), controller: "a:8090".parse().unwrap() };
    let facts = ModelFacts::new(pod.model.clone(), vec![pod.controller.clone()], IpuCount::new(64).unwrap());
    frontend.tell_models(vec![ModelFacts { placement: Placement::Explicit, ..facts }]);
    let partitions = Vec::new();
    frontend.tell(Event::Inventory { pod, asked: Millis(1000), ipus: 16, faulty: 0, partitions });
    frontend
}

/// The locks are those of shuttle, which needs a run of its own.
fn once(test: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(test, 1);
}

/// The ids in `line` and in `not_in_line` of the next document.
fn ids(composer: &mut StatusComposer, frontend: &Frontend) -> [Vec<u32>; 2] {
    let status = composer.compose(frontend, Writer::default(), BTreeMap::new());
    [status.line, status.not_in_line]
        .map(|jobs| jobs.into_iter().filter_map(|row| row.job).map(|job| job.id).collect())
}

#[test]
fn cli_status_line_leaves_out_a_job_that_is_held_while_it_waits() {
    once(|| {
        let (frontend, mut composer) = (site(), StatusComposer::default());
        ask(&frontend, NOW);
        frontend.seen_jobs.note(7, Some(in_line()));
        assert_eq!(ids(&mut composer, &frontend), [vec![7], vec![]]);
        let before = frontend.status_revision();
        frontend.seen_jobs.note(7, Some(held(NOW)));
        assert_ne!(frontend.status_revision(), before);
        assert_eq!(ids(&mut composer, &frontend), [vec![], vec![7]]);
        frontend.seen_jobs.note(7, Some(held(Seconds(NOW.0 + 10))));
        assert_eq!(ids(&mut composer, &frontend), [vec![], vec![7]]);
        frontend.seen_jobs.note(7, Some(in_line()));
        assert_eq!(ids(&mut composer, &frontend), [vec![7], vec![]]);
    });
}

/// Slurm tests some limits only after it has asked for the job's IPUs.
#[test]
fn cli_status_line_has_a_job_of_whose_limits_slurm_hears_later() {
    once(|| {
        let (frontend, mut composer) = (site(), StatusComposer::default());
        ask(&frontend, NOW);
        frontend.seen_jobs.note(7, Some(held(NOW)));
        ask(&frontend, Seconds(NOW.0 + 5));
        frontend.seen_jobs.note(7, Some(held(Seconds(NOW.0 + 10))));
        assert_eq!(ids(&mut composer, &frontend), [vec![7], vec![]]);
    });
}

/// Slurm gives the job a year.
#[test]
fn cli_status_end_of_a_job_without_a_time_limit_is_unknown() {
    for seen in unlimited() {
        assert_eq!((seen.ends(NOW.0), seen.is_unlimited()), (None, true), "{seen:?}");
    }
    assert_eq!((in_line().ends(NOW.0), in_line().is_unlimited()), (Some(NOW.0 + 3600), false));
}

#[test]
fn cli_status_has_a_requeued_job_beside_the_partition_of_its_last_run() {
    once(|| {
        let (frontend, mut composer) = (site(), StatusComposer::default());
        let running = SeenJob { latest_end: LatestEnd::At(NOW.0 + 60), waits_for: None, ..in_line() };
        frontend.seen_jobs.note(7, Some(running));
        let ipus = (0..4).map(|ipu| ledger::Place::numbered(ipu, 16)).collect();
        let claim = Claim { size: IpuCount::new(4).unwrap(), ipus, ..claim(7) };
        let partition = claim.partition.clone();
        for event in [Event::begin(claim), Event::Up(partition.clone()), Event::Launched(partition.clone())] {
            frontend.tell(event);
        }
        let nobody: [Vec<u32>; 2] = Default::default();
        assert_eq!(ids(&mut composer, &frontend), nobody);
        frontend.tell(Event::Fini { job: 7, ending: Ending::Unheld });
        assert_eq!(ids(&mut composer, &frontend), nobody, "it may have ended");
        // Slurm names no reason yet.
        frontend.seen_jobs.note(7, Some(SeenJob { begins: NOW.0 + 120, ..in_line() }));
        let status = composer.compose(&frontend, Writer::default(), BTreeMap::new());
        assert_eq!(
            (status.partitions[0].state, status.not_in_line[0].not_before),
            (State::Ending, NOW.0 + 120)
        );
        frontend.tell(Event::Gone(partition));
        assert_eq!(ids(&mut composer, &frontend)[1], [7], "its partition is gone");
    });
}

/// A job that was cancelled while its partition was made, or ran for a moment.
#[test]
fn cli_status_has_no_ended_job_among_the_waiting_ones() {
    once(|| {
        let (frontend, mut composer) = (site(), StatusComposer::default());
        frontend.seen_jobs.note(7, Some(SeenJob { reason: Some("vipu: preparing".into()), ..in_line() }));
        frontend.tell(Event::Prepare(claim(7)));
        let nobody: [Vec<u32>; 2] = Default::default();
        assert_eq!(ids(&mut composer, &frontend), nobody, "it has a partition");
        frontend.tell(Event::Forgo { job: 7, in_vain: false });
        assert_eq!(ids(&mut composer, &frontend), nobody, "it may have ended");
        frontend
            .seen_jobs
            .note(7, Some(SeenJob { latest_end: LatestEnd::Over, waits_for: None, ..in_line() }));
        assert_eq!(ids(&mut composer, &frontend), nobody);
    });
}
