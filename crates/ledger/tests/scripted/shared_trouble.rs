//! Trouble and refusals that no job has caused.

use crate::script::{Scripted, asks, claim, empty_pod, id, jobs, pod, pod_with_a_second_controller, wish};
use ledger::{Claim, Event, Jobs, KnownJobs, Seconds};
use vipu_types::{IpuCount, Words};

const FULL: &str = "IpuofDir: cannot write to /ipuof: No space left on device";

fn trouble(reason: Option<&str>) -> Event {
    Event::Trouble { model: id("pod64", "vipu").model, reason: reason.map(Words::from) }
}

fn refuses(is: bool) -> Event {
    Event::Refuses { pod: id("pod64", "vipu"), reason: is.then(|| "controller vipu:8090: no access".into()) }
}

#[test]
fn no_job_starts_while_its_model_is_in_trouble() {
    let mut scripted = empty_pod();
    assert_eq!(scripted.tell(trouble(Some(FULL))), "");
    assert_eq!(asks(&scripted, "pod64", 1), format!("vipu: pod64: {FULL}"));
    // A configuration that does not concern the trouble does not end it.
    scripted.tell(Event::Models(vec![ledger::ModelFacts { largest: 32, ..pod("pod64") }]));
    assert_eq!(asks(&scripted, "pod64", 1), format!("vipu: pod64: {FULL}"));
    assert_eq!(scripted.tell(trouble(None)), "kick");
    assert_eq!(asks(&scripted, "pod64", 1), "fits");
}

/// The driver may look at the directory before the ledger hears of the model.
#[test]
fn trouble_of_a_model_to_come_is_not_forgotten() {
    let mut scripted = Scripted { ledger: ledger::Ledger::new(), now: ledger::Millis(1000) };
    scripted.tell(trouble(Some(FULL)));
    scripted.tell(Event::Models(vec![pod("pod64")]));
    assert_eq!(scripted.lists(vec![]), "");
    assert_eq!(asks(&scripted, "pod64", 1), format!("vipu: pod64: {FULL}"));
}

#[test]
fn a_job_whose_create_fails_meanwhile_waits_in_line_again() {
    let mut scripted = empty_pod();
    scripted.play("begin 1 -> create 1");
    scripted.tell(trouble(Some(FULL)));
    assert_eq!(scripted.ledger.trouble_of(&claim("1")).unwrap().to_string(), format!("vipu: pod64: {FULL}"));
    scripted.play("failed 1 -> back 1 (no room), survey pod64");
}

/// Slurm's jobs, whose users are the job ids divided by 100.
struct Users(KnownJobs);

impl Jobs for Users {
    fn now(&self) -> Seconds {
        self.0.now()
    }
    fn end_of(&self, job: u32) -> Option<Seconds> {
        self.0.end_of(job)
    }
    fn waits(&self, job: u32) -> bool {
        self.0.waits(job)
    }
    fn expected(&self, job: u32) -> Option<Seconds> {
        self.0.expected(job)
    }
    fn patience(&self) -> std::time::Duration {
        self.0.patience()
    }
    fn user_of(&self, job: u32) -> u32 {
        job / 100
    }
}

fn may_start(scripted: &mut Scripted, job: u32) -> Result<(), Words> {
    let answer = scripted.ledger.may_start(&wish(job, 1, 60), &Users(jobs(0, &[])));
    answer.map(drop).map_err(Words::of)
}

fn begin(scripted: &mut Scripted, job: u32) {
    let claim = Claim { user: job / 100, size: IpuCount::ONE, ..claim(&job.to_string()) };
    scripted.tell(Event::begin(claim));
}

#[test]
fn one_job_of_each_user_asks_a_controller_that_refuses_all_and_more_ask_later() {
    let mut scripted = empty_pod();
    begin(&mut scripted, 101);
    assert_eq!(scripted.tell(refuses(true)), "kick", "others may ask");
    let refused = Err("vipu: pod64: controller vipu:8090: no access".into());
    // The refused job 101 is the job of its user that asks.
    assert_eq!(may_start(&mut scripted, 102), refused);
    assert_eq!(may_start(&mut scripted, 201), Ok(()));
    begin(&mut scripted, 201);
    assert_eq!(may_start(&mut scripted, 202), refused);
    // A minute later one more job of each user may ask, because the first may be at fault itself.
    assert_eq!(scripted.tell(refuses(true)), "kick");
    assert_eq!([102, 202, 301].map(|job| may_start(&mut scripted, job)), [(); 3].map(Ok));
    begin(&mut scripted, 102);
    assert_eq!(may_start(&mut scripted, 103), refused);
    assert_eq!(scripted.tell(refuses(true)), "", "and the next two minutes later");
    assert_eq!(may_start(&mut scripted, 103), refused);
    assert_eq!(scripted.tell(refuses(true)), "kick");
    assert_eq!(may_start(&mut scripted, 103), Ok(()));
    assert_eq!(scripted.tell(refuses(false)), "kick");
    assert_eq!(may_start(&mut scripted, 203), Ok(()));
}

/// The job that asked may have been cancelled.
#[test]
fn a_controller_that_refuses_all_is_asked_at_least_every_ten_minutes() {
    let mut scripted = empty_pod();
    begin(&mut scripted, 101);
    scripted.tell(refuses(true));
    scripted.play("failed 101 -> fail 101 (no room), survey pod64");
    // All jobs of this user that may ask by then have asked in vain.
    for job in 102..=110 {
        begin(&mut scripted, job);
    }
    for _ in 1..60 {
        scripted.tell(refuses(true));
    }
    for job in 102..=110 {
        scripted.play(&format!("failed {job} -> fail {job} (no room), survey pod64"));
    }
    let woken: Vec<_> = (60..85).filter(|_| scripted.tell(refuses(true)) == "kick").collect();
    assert_eq!(woken.len(), 3, "{woken:?}");
    assert_eq!(may_start(&mut scripted, 111), Ok(()));
}

#[test]
fn a_controller_that_refuses_all_keeps_no_job_from_the_others() {
    let mut scripted = pod_with_a_second_controller();
    scripted.tell(refuses(true));
    let taken = |scripted: &mut Scripted, ipus| {
        let answer = scripted.ledger.may_start(&wish(101, ipus, 60), &Users(jobs(0, &[])));
        answer.map(|controller| controller.host().to_owned()).map_err(Words::of)
    };
    assert_eq!(taken(&mut scripted, 4), Ok("b".into()));
    assert_eq!(taken(&mut scripted, 16), Ok("vipu".into()), "to find out whether that is over");
}
