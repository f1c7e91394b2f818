//! Jobs on the four nodes of a fake Slurm: they are submitted, start and end at the word of a test. A scheduler asks as
//! select/vipu does, with a stock selector that takes the first free nodes.

use std::cell::Cell;
use std::collections::BTreeMap;

use frontend::slurm::Question;
use frontend::{Cabling, Frontend, Verdict, after, before, job_begin, job_fini, refused, submitted};
use vipu_types::RunEnd;

use crate::fake_slurm::{Change, FakeJob, FakeSlurm, View};
use crate::fake_test::FakeTest;
use crate::orders::{NOW, Orders, configure};
use crate::{model, models};

/// The nodes of the cluster.
pub const ALL: [u32; 4] = [1, 2, 3, 4];

/// The seconds after a job until its IPUs are free.
pub const REMOVAL: i64 = 1;

/// A job, with the nodes on which it may run.
#[derive(Clone, Debug)]
pub struct Job {
    id: u32,
    among: Vec<u32>,
    /// The seconds from its start to its end.
    pub limit: i64,
}

pub struct Cluster {
    pub frontend: Frontend,
    orders: Orders,
    slurm: FakeSlurm,
    next_id: Cell<u32>,
}

impl Cluster {
    /// A cluster whose nodes have IPUs of pod64, with these lines in its file.
    pub fn new(lines: &str, cabling: Option<Cabling>) -> Self {
        let orders = Orders::default();
        let frontend = orders.front_end(models("pod64", model(lines, cabling)));
        Self { frontend, orders, slurm: FakeSlurm::default(), next_id: Cell::new(1) }
    }

    /// Reads a new file of pod64.
    pub fn reconfigure(&self, lines: &str, cabling: Option<Cabling>) {
        configure(&self.frontend, models("pod64", model(lines, cabling)));
    }

    /// Submits a job for IPUs, with a number of nodes unless it is 0.
    pub fn submit(&self, ipus: &str, nodes: u32, among: &[u32]) -> Job {
        let job = self.new_job(among);
        let Job { id, limit, .. } = job;
        let record = FakeJob {
            id,
            is_batch: true,
            is_pending: true,
            waits_in_line: true,
            priority: 1000 - id,
            time_limit: limit,
            slurm_partition: Some("main".to_owned()),
            slurm_partitions: Some("main".to_owned()),
            asked_nodes: (nodes > 0).then_some(nodes..=nodes),
            ..FakeJob::default()
        };
        let mut record = self.slurm.enter(record.with_tres(&format!("gres:vipu:pod64{ipus}")));
        submitted(&self.frontend, &mut record).unwrap();
        job
    }

    /// Has a job without IPUs occupy these nodes.
    pub fn occupy(&self, nodes: &[u32]) -> Job {
        let job = self.new_job(nodes);
        let (id, end_time, nodes) = (job.id, NOW + job.limit, nodes.to_vec());
        self.slurm.enter(FakeJob {
            id,
            is_running: true,
            takes_whole_nodes: true,
            nodes,
            end_time,
            ..FakeJob::default()
        });
        job
    }

    fn new_job(&self, among: &[u32]) -> Job {
        let id = self.next_id.replace(self.next_id.get() + 1);
        Job { id, among: among.to_vec(), limit: 3600 + 60 * i64::from(id) }
    }

    /// The nodes on which a job starts, or the reason why it waits.
    pub fn start(&self, job: &Job) -> Result<Vec<u32>, String> {
        let nodes = self.asked(job, Question::Start, 0)?;
        self.change(job).change(|record| {
            (record.is_pending, record.is_running) = (false, true);
            (record.nodes, record.start_time, record.end_time) = (nodes.clone(), NOW, NOW + job.limit);
        });
        assert!(job_begin(&self.frontend, self.change(job)), "{job:?} cannot begin");
        self.orders.settle(&self.frontend, None);
        assert!(self.frontend.ledger().is_launched(job.id), "{job:?} has no partition");
        Ok(nodes)
    }

    /// Whether a job could ever run.
    pub fn may_ever_run(&self, job: &Job) -> bool {
        self.asked(job, Question::Ever, 0).is_ok()
    }

    /// Makes one heterogeneous job of these.
    pub fn join(&self, components: &[Job]) {
        let leader = components[0].id;
        components.iter().for_each(|component| self.change(component).change(|job| job.het_job = leader));
    }

    /// The seconds until the start that backfill expects.
    pub fn expected(&self, job: &Job) -> i64 {
        self.expected_after(job, 0)
    }

    /// The seconds until the start that backfill expects, if it asks for none before this one.
    pub fn expected_after(&self, job: &Job, not_before: i64) -> i64 {
        self.change(job).change(|job| job.is_backfill_test = true);
        let answer = self.asked(job, Question::When, not_before);
        assert!(answer.is_ok(), "{job:?}: {answer:?}");
        self.change(job).change(|job| job.is_backfill_test = false);
        self.change(job).see(|job| job.start_time) - NOW
    }

    /// Ends a job that runs.
    pub fn end(&self, job: &Job) {
        self.change(job).change(|job| {
            (job.is_running, job.is_completing, job.run_end) = (false, true, Some(RunEnd::Completed));
            job.nodes.clear();
        });
        job_fini(&self.frontend, self.change(job), &Cell::default());
        self.orders.settle(&self.frontend, None);
        assert!(self.frontend.ledger().live_claim(job.id).is_none());
    }

    /// Ends a job by its failure. Its partition is kept.
    pub fn fail(&self, job: &Job) {
        self.change(job).change(|job| {
            (job.is_running, job.is_completing, job.run_end) = (false, true, Some(RunEnd::Failed(1)));
            (job.end_time, job.options) = (NOW, vec!["ipu_keep=10m".to_owned()]);
            job.nodes.clear();
        });
        job_fini(&self.frontend, self.change(job), &Cell::default());
        self.orders.settle(&self.frontend, None);
    }

    /// Answers all orders.
    pub fn settle(&self) {
        self.orders.settle(&self.frontend, None);
    }

    /// Limits the IPUs that the user of this job may have at once.
    pub fn limit(&self, job: &Job, ipus: u64) {
        self.change(job).change(|job| job.most_ipus = Some(ipus));
    }

    /// The IPUs in partitions without a job.
    pub fn held_without_job(&self) -> Vec<u32> {
        self.frontend.ledger().held_without_job().map(|(claim, _)| claim.size.get()).collect()
    }

    /// The controller and the IPUs of a job that runs. It has no IPUs if the controller chooses them.
    pub fn has(&self, job: &Job) -> (String, Vec<u32>) {
        let ledger = self.frontend.ledger();
        let claim = ledger.live_claim(job.id).unwrap();
        (
            claim.controller.to_string(),
            claim.ipus.iter().map(|place| place.domain * 64 + place.index).collect(),
        )
    }

    fn change(&self, job: &Job) -> Change<'_> {
        Change(self.slurm.job(job.id))
    }

    /// Asks for nodes as select/vipu does: the test is repeated as long as the front end says so.
    fn asked(&self, job: &Job, question: Question, not_before: i64) -> Result<Vec<u32>, String> {
        let mut record = self.change(job);
        let fewest = record.see(|job| job.asked_nodes.as_ref().map_or(1, |nodes| *nodes.start()));
        let mut test = FakeTest::new(job.among.clone(), fewest);
        test.not_before = (not_before > 0).then_some(NOW + not_before);
        let reason = || self.orders.reason(job.id).unwrap_or_default();
        loop {
            match before(&self.frontend, &mut record, question, &mut test) {
                Verdict::Go => {}
                Verdict::Answered => return Ok(test.nodes),
                _ => return Err(reason()),
            }
            let Some(start) = self.choose(&mut test, question) else {
                if refused(&self.frontend, *record, &mut test) {
                    continue;
                }
                return Err("Resources".to_owned());
            };
            record.change(|job| job.start_time = start);
            match after(&self.frontend, &mut record, question, &mut test) {
                Verdict::Go | Verdict::Answered => return Ok(test.nodes),
                Verdict::Again => {}
                _ => return Err(reason()),
            }
        }
    }

    /// The stock selector: chooses the nodes that are free first, and returns the time at which they are.
    fn choose(&self, test: &mut FakeTest<View<'_>>, question: Question) -> Option<i64> {
        let mut free_at: BTreeMap<u32, i64> = test.nodes.iter().map(|node| (*node, NOW)).collect();
        for job in self.slurm.jobs().iter().filter(|job| job.takes_whole_nodes) {
            for node in &job.nodes {
                free_at.entry(*node).and_modify(|at| *at = job.end_time);
            }
        }
        let mut free: Vec<_> = free_at.into_iter().map(|(node, at)| (at, node)).collect();
        free.sort_unstable();
        free.truncate(test.fewest as usize);
        let start = free.last()?.0.max(test.not_before.unwrap_or(0));
        let is_enough = free.len() == test.fewest as usize && (question != Question::Start || start == NOW);
        is_enough.then(|| {
            test.nodes = free.into_iter().map(|(_, node)| node).collect();
            test.nodes.sort_unstable();
            start
        })
    }
}
