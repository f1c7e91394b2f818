//! The target `jobs`: requests, options and records of any content, as users can make them, through the
//! answers to Slurm's callbacks.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use frontend::slurm::{Job as _, Question};
use frontend::{Frontend, Model, Models, Verdict};
use ledger::Violation;
use vipu_conf::Settings;
use vipu_types::{ModelName, Words};

use super::fake_slurm::{Change, FakeSlurm, View};
use super::fake_test::FakeTest;
use super::orders::Orders;
use super::records::Lines;

const CONF: &str = "ApiHost=a:1 IpuofDir=/x MaxKeep=3600 MaxRequeues=3 SizePolicy=round-up\n\
                    MaxIpusPerJobInQos=low:8 MaxIpusPerJobInSlurmPartition=debug:16 IpusPerSlurmPartition=ipu:32\n";

/// Reads records of jobs, and makes Slurm's calls for each.
pub(super) fn jobs(bytes: &[u8]) {
    let settings = Some(Settings::parse(CONF, Path::new("vipu.conf")).unwrap());
    let model = Model { largest: 64, sizes: None, settings, cabling: None };
    let orders = Orders::default();
    let frontend = orders.front_end(Models(BTreeMap::from([(ModelName::new("pod64").unwrap(), model)])));
    // A job's record at its submission, and at its end. `slurm-host` reads C strings like this.
    let records: Vec<_> = bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    for (id, texts) in (1..).zip(records.chunks(2)) {
        let [first, last] = [0, 1].map(|nth| Lines::read(texts.get(nth).unwrap_or(&texts[0])));
        let (slurm, later) = (FakeSlurm::default(), FakeSlurm::default());
        let (mut job, mut changed) = (slurm.enter(first.job(id)), later.enter(last.job(id)));
        has_words(frontend::submitted(&frontend, &mut job));
        // At the second start there is a prepared partition.
        for _ in 0..2 {
            start(&frontend, job, first.test(job));
            settle(&frontend, &orders, &first);
        }
        has_words(frontend::changed(&frontend, &mut changed, job));
        frontend::job_ready(&frontend, changed);
        frontend::job_fini(&frontend, Change(changed), &Cell::default());
        settle(&frontend, &orders, &last);
    }
}

fn start<'job>(frontend: &Frontend, job: View<'job>, mut test: FakeTest<View<'job>>) {
    assert!(frontend::refuse_ipus(&job).is_err() || !job.mentions_vipu());
    let is_yes = |verdict| matches!(verdict, Verdict::Go | Verdict::Answered);
    for question in [Question::Ever, Question::When, Question::Other, Question::Start] {
        let starts = is_yes(frontend::before(frontend, &mut Change(job), question, &mut test))
            && is_yes(frontend::after(frontend, &mut Change(job), question, &mut test));
        if starts && question == Question::Start {
            frontend::job_begin(frontend, Change(job));
        }
    }
    if frontend.ledger().live_claim(job.id()).is_none() {
        frontend::adopt(frontend, Change(job));
    }
}

/// Checks that a refusal is a text of one line.
fn has_words(answer: Result<Option<String>, Words>) {
    let is_line = |refusal: &Words| !refusal.is_empty() && !refusal.contains('\n');
    assert!(answer.as_ref().err().is_none_or(is_line), "{answer:?}");
}

/// Answers all orders. Then checks that the ledger is consistent.
fn settle(frontend: &Frontend, orders: &Orders, job: &Lines<'_>) {
    orders.settle(frontend, job.create_fails());
    // The front end catches a panic of the ledger.
    assert_eq!(frontend.out_of_order(), None);
    let wrong = |it: &Violation| !matches!(it, Violation::Overcommitted { .. });
    let violations = frontend.ledger().violations().into_iter().filter(wrong);
    assert_eq!(violations.collect::<Vec<_>>(), []);
}
