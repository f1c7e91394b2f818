//! The target `jobs`: requests, options and records of any content, as users can make them, through the
//! answers to Slurm's callbacks.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use frontend::slurm::{Job as _, Question};
use frontend::{Frontend, HostTask, Model, Models, Outside, Verdict};
use ledger::{Action, Claim, DriverAction, Event, HostAction, Millis, Seconds, Violation};
use vipu_conf::Settings;
use vipu_types::{ModelName, PodId, Words};

use super::records::{Change, Record, View};

const CONF: &str = "ApiHost=a:1 IpuofDir=/x MaxKeep=3600 MaxRequeues=3 SizePolicy=round-up\n\
                    MaxIpusPerJobInQos=low:8 MaxIpusPerJobInSlurmPartition=debug:16 IpusPerSlurmPartition=ipu:32\n";

/// The instructions of the ledger, kept until they are answered.
#[derive(Default)]
struct Orders(Arc<Mutex<Vec<Action>>>);

impl Outside for Orders {
    fn now(&self) -> Millis {
        Millis(1_000)
    }

    fn unix_time(&self) -> Seconds {
        Seconds(1_800_000_000)
    }

    fn local_time(&self, at: Seconds) -> String {
        format!("{at:?}")
    }

    fn carry_out(&self, actions: Vec<Action>) {
        self.0.lock().unwrap().extend(actions);
    }

    fn note_launched(&self, _: Claim, _: Seconds) {}

    fn ask_host(&self, _: HostTask) {}

    fn is_switched_off(&self) -> bool {
        false
    }
}

/// Reads records of jobs, and makes Slurm's calls for each.
pub(super) fn jobs(bytes: &[u8]) {
    let orders = Orders::default();
    let actions = Arc::clone(&orders.0);
    let frontend = Frontend::new(Box::new(orders));
    let model = ModelName::new("pod64").unwrap();
    let settings = Settings::parse(CONF, Path::new("vipu.conf")).unwrap();
    let pod = PodId { model: model.clone(), controller: settings.controllers[0].clone() };
    let models = Models(BTreeMap::from([(
        model,
        Model { largest: 64, sizes: None, settings: Some(settings), cabling: None },
    )]));
    let facts = models.0.iter().map(|(name, model)| model.facts(name, None)).collect();
    frontend.set_models(models);
    frontend.tell_models(facts);
    let asked = Millis(1_000);
    frontend.tell(Event::Inventory { pod, asked, ipus: 64, faulty: 0, partitions: Vec::new() });
    // A job's record at its submission, and at its end.
    let records: Vec<_> = bytes.split(|byte| *byte == 0).collect();
    for (id, texts) in (1..).zip(records.chunks(2)) {
        let [job, changed] =
            [0, 1].map(|nth| RefCell::new(Record::read(id, texts.get(nth).unwrap_or(&texts[0]))));
        has_words(frontend::submitted(&frontend, &mut View(&job)));
        // At the second start there is a prepared partition.
        for _ in 0..2 {
            start(&frontend, View(&job));
            settle(&frontend, &actions, &job.borrow());
        }
        has_words(frontend::changed(&frontend, &mut View(&changed), View(&job)));
        frontend::job_ready(&frontend, View(&changed));
        frontend::job_fini(&frontend, Change(View(&changed)), &Cell::default());
        settle(&frontend, &actions, &changed.borrow());
    }
}

fn start(frontend: &Frontend, mut job: View<'_>) {
    assert!(frontend::refuse_ipus(&job).is_err() || !job.mentions_vipu());
    let is_yes = |verdict| matches!(verdict, Verdict::Go | Verdict::Answered);
    for question in [Question::Ever, Question::When, Question::Other, Question::Start] {
        let starts = is_yes(frontend::before(frontend, &mut Change(job), question, &mut job))
            && is_yes(frontend::after(frontend, &mut Change(job), question, &mut job));
        if starts && question == Question::Start {
            frontend::job_begin(frontend, Change(job));
        }
    }
    if frontend.ledger().live_claim(job.0.borrow().id).is_none() {
        frontend::adopt(frontend, Change(job));
    }
}

/// Checks that a refusal is a text of one line.
fn has_words(answer: Result<Option<String>, Words>) {
    let is_line = |refusal: &Words| !refusal.is_empty() && !refusal.contains('\n');
    assert!(answer.as_ref().err().is_none_or(is_line), "{answer:?}");
}

/// Answers all actions; a create can fail. Then checks that the ledger is consistent.
fn settle(frontend: &Frontend, actions: &Mutex<Vec<Action>>, record: &Record) {
    loop {
        let mut waiting = actions.lock().unwrap();
        if waiting.is_empty() {
            break;
        }
        let next = waiting.remove(0);
        drop(waiting);
        frontend.tell(match next {
            Action::Driver(DriverAction::Create(Claim { partition, .. })) => {
                match record.some::<String>("create_fails") {
                    Some(reason) => Event::CreateFailed { partition, reason: reason.into() },
                    None => Event::Up(partition),
                }
            }
            Action::Driver(DriverAction::Remove(claim)) => Event::Gone(claim.partition),
            Action::Driver(DriverAction::Keep(claim, _)) => Event::KeepRecorded(claim.partition),
            Action::Host(HostAction::OpenLaunch(claim)) => Event::Launched(claim.partition),
            Action::Host(HostAction::AwaitNodes(claim)) => Event::NodesDone(claim.partition),
            _ => continue,
        });
    }
    // The front end catches a panic of the ledger.
    assert_eq!(frontend.out_of_order(), None);
    let wrong = |it: &Violation| !matches!(it, Violation::Overcommitted { .. });
    let violations = frontend.ledger().violations().into_iter().filter(wrong);
    assert_eq!(violations.collect::<Vec<_>>(), []);
}
