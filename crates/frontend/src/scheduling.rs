//! Answers for IPUs to the questions of Slurm's schedulers. All run under slurmctld's locks: no I/O, no
//! waiting.

use ledger::{Jobs as _, Seconds, Wait};
use vipu_types::Reason;

use crate::accounting;
use crate::allowed_ipus::{self, AllowedIpus, AskingJob, NotNow};
use crate::between_callbacks::{Asked, BetweenCallbacks, OnNodes, Told};
use crate::cabling::GroupIpus;
use crate::frontend::Frontend;
use crate::internal_error;
use crate::jobs_for_ledger::{InSlurm, candidates};
use crate::mode_host;
use crate::mutex::lock;
use crate::node_choice::{self, Choice};
use crate::preparing;
use crate::request::Resolved;
use crate::show_partition;
use crate::slurm::{Job, JobMut, Question, Test, Verdict};

/// A year, in seconds: the answer to a question about a start that is unknown.
const BEYOND_ANY_PLAN: i64 = 365 * 24 * 3600;

/// Answers a test before the stock selector looks at the job.
pub fn before(
    frontend: &Frontend,
    job: &mut impl JobMut,
    question: Question,
    test: &mut impl Test,
) -> Verdict {
    frontend.test_notes.victims.clear();
    frontend.test_notes.on_nodes.clear();
    let told = frontend.test_notes.told.take(&Asked::of(**job));
    let earlier = frontend.test_notes.choice.take(&job.id());
    if question == Question::When && !components_with_ipus(**job).is_empty() {
        // From 24.11 on, backfill asks for no start before that of the other components, which is our own answer. An
        // earlier start of this component would never be seen. Backfill itself adds that of the others.
        test.forget_not_before();
    }
    if question == Question::Other || !job.mentions_vipu() {
        return Verdict::Go;
    }
    let (models, id) = (frontend.models(), job.id());
    let wanted = models.wanted(**job);
    let prepared = || Some(frontend.ledger().preparation(id)?.claim.controller);
    let of_wanted = |wanted: &Resolved| Choice::of(&models, wanted, prepared, earlier, test);
    let mut choice = wanted.as_ref().ok().and_then(|wanted| wanted.as_ref().and_then(of_wanted));
    let verdict = match wanted {
        _ if question == Question::When && !job.is_backfill_test() => Verdict::Go,
        Ok(None) => Verdict::Go,
        Ok(Some(wanted)) => {
            accounting::request(frontend, job, &wanted);
            let asked = AskedTest { question, wanted: &wanted, told };
            answered(frontend, job, asked, choice.as_mut(), test)
        }
        Err(refusal) if question != Question::Ever => frontend.wait(**job, refusal.into_reason()),
        Err(refusal) if refusal.is_for_good() => Verdict::Never,
        Err(_) => Verdict::Go,
    };
    if let Some(mut choice) = choice {
        match verdict {
            Verdict::Go => {
                choice.leave_out_others(test);
                frontend.test_notes.choice.leave(job.id(), choice);
            }
            Verdict::Wait | Verdict::Never => choice.put_back(test),
            Verdict::Answered | Verdict::Again => {}
        }
    }
    verdict
}

/// A test of a job with IPUs.
struct AskedTest<'a> {
    question: Question,
    wanted: &'a Resolved,
    /// What backfill was told in the test before.
    told: Option<Told>,
}

/// Answers a test from the IPUs that the job may have.
fn answered(
    frontend: &Frontend,
    job: &mut impl JobMut,
    asked: AskedTest<'_>,
    choice: Option<&mut Choice>,
    test: &mut impl Test,
) -> Verdict {
    let AskedTest { question, wanted, told } = asked;
    // After a no to this question Slurm would hold the job for good, so occupied IPUs do not count.
    if question == Question::Ever {
        return match frontend.models().never_together(wanted, test) {
            Some(why) => {
                tracing::info!("job {} is refused: {}", job.id(), why.line);
                frontend.show_reason(job.id(), why);
                Verdict::Never
            }
            None => Verdict::Go,
        };
    }
    let why = obstacle(frontend, **job, wanted, question)
        .or_else(|| mode_host::misfit(frontend, wanted, test.fewest()));
    match why {
        Some(why) => frontend.wait(**job, why),
        None if !accounting::is_within_limits(frontend, job, wanted, question) => Verdict::Wait,
        None if question == Question::Start => {
            start_now(&AskingJob::new(frontend, **job, wanted), choice, test)
        }
        // A start on several controllers is found by asking for each.
        None if choice.is_some() => Verdict::Go,
        None => answer_again(frontend, job, wanted, told, test),
    }
}

/// The reason why a job has to wait even if IPUs are free.
fn obstacle(frontend: &Frontend, job: impl Job, wanted: &Resolved, question: Question) -> Option<Reason> {
    if let Some(trouble) = frontend.out_of_order() {
        // The ledger knows the reason too, but it may have failed.
        let model = wanted.model.clone();
        return Some(Wait::Trouble { model, trouble: trouble.into() }.into());
    }
    if question == Question::Start && frontend.has_begin_panicked(job.id()) {
        return Some(internal_error::TO_USER.into());
    }
    if question == Question::Start && frontend.outside().is_ending() {
        return Some("vipu: slurmctld ends".into());
    }
    if question == Question::Start && !frontend.has_read_journal() {
        return Some("vipu: slurmctld still reads the journal of partitions".into());
    }
    if let Some(nodes) = lock(&frontend.before.left_runs).get(&job.id()) {
        return Some(not_told(&nodes.join(",")));
    }
    over_share(frontend, job, wanted).map(Reason::from)
}

/// The reason of a job of which an earlier run may be left on this node.
pub(crate) fn not_told(node: &str) -> Reason {
    let line = format!("vipu: node {node} has not told yet whether it still runs this job");
    Reason::new(show_partition::NOT_TOLD, line)
}

/// Whether a job may start now, if necessary by preempting others.
fn start_now(
    asking: &AskingJob<'_, impl Job>,
    mut choice: Option<&mut Choice>,
    test: &mut impl Test,
) -> Verdict {
    failpoints::stop!("test");
    let AskingJob { frontend, job, wanted, .. } = asking;
    preparing::forgo_unwanted(asking);
    let prepared = AllowedIpus::prepared(asking);
    let is_prepared = prepared.is_some();
    if let (Some(AllowedIpus::Prepared(it)), Some(choice)) = (&prepared, choice.as_deref())
        && it.ready.is_some()
        && !choice.has(&it.claim.controller)
    {
        // The partition waits for nodes of its controller, until PrepareWait is over.
        return Verdict::Wait;
    }
    let NotNow { why, is_for_room } = match first_start(asking, prepared, choice.as_deref()) {
        Err(not_now) => not_now,
        Ok(ipus) => {
            if let Some(choice) = choice {
                choice.try_ipus(&ipus);
            }
            if !is_prepared {
                test.leave_out(&preparing::nodes_before(asking));
                if preparing::is_to_be_prepared(asking, &ipus) {
                    frontend.test_notes.on_nodes.leave(job.id(), OnNodes::Prepare((*wanted).clone()));
                }
            }
            return Verdict::Go;
        }
    };
    let shown = node_choice::reason(choice.as_deref(), why);
    if is_for_room
        && let Some(others) =
            allowed_ipus::fewest(choice.as_deref_mut(), |ipus| preparing::displaced(asking, ipus))
    {
        frontend.test_notes.on_nodes.leave(job.id(), OnNodes::Displace(others, shown));
        return Verdict::Go;
    }
    if !is_for_room || !test.may_preempt() {
        return frontend.wait(*job, shown);
    }
    let candidates = candidates(test);
    match allowed_ipus::fewest(choice, |ipus| ipus.victims(asking, &candidates)) {
        None => frontend.wait(*job, shown),
        Some(none) if none.is_empty() => frontend.wait(*job, preparing::on_their_way_out(shown)),
        Some(victims) => {
            // Slurm preempts them only if the stock selector finds nodes as well: see `after`.
            frontend.test_notes.victims.leave(job.id(), victims);
            Verdict::Go
        }
    }
}

/// The first IPUs on which a job may start now, of those that its nodes allow.
fn first_start(
    asking: &AskingJob<'_, impl Job>,
    prepared: Option<AllowedIpus>,
    choice: Option<&Choice>,
) -> Result<GroupIpus, NotNow> {
    if let Some(prepared) = prepared {
        return prepared.start(asking);
    }
    let mut starts = AllowedIpus::of_choice(choice).into_iter().map(|ipus| ipus.start(asking));
    let first = starts.next().unwrap_or_else(|| AllowedIpus::Any(None).start(asking));
    first.or_else(|why| starts.find_map(Result::ok).ok_or(why))
}

/// The reason why a waiting job would be refused for its IPUs now. It asks the questions of [`start_now`] and
/// changes nothing.
pub(crate) fn reason_now(frontend: &Frontend, job: impl Job) -> Option<Reason> {
    let wanted = match frontend.models().wanted(job) {
        Ok(wanted) => wanted?,
        Err(refusal) => return Some(refusal.into_reason()),
    };
    let obstacle = obstacle(frontend, job, &wanted, Question::Start);
    obstacle.or_else(|| allowed_ipus::reason(&AskingJob::new(frontend, job, &wanted)))
}

/// The wait of a job that would take its Slurm partition above its limit of IPUs. The job is not in line,
/// because free IPUs alone do not let it start.
fn over_share(frontend: &Frontend, job: impl Job, wanted: &Resolved) -> Option<Wait> {
    let slurm_partition = job.slurm_partition()?;
    let limit = frontend.models().limit_of(&wanted.model, &slurm_partition)?;
    let (model, size) = (wanted.model.clone(), wanted.size);
    if size.get() > limit {
        return Some(Wait::OverWholeShare { model, slurm_partition, size, limit });
    }
    let used = frontend.ledger().ipus_of_others(&model, &slurm_partition, job.id(), job.user());
    let fits = used + u64::from(size.get()) <= u64::from(limit);
    (!fits).then_some(Wait::OverShare { model, slurm_partition, used, limit })
}

/// Repeats the answer of [`start_later`] within the second, if it still holds.
///
/// Backfill asks when a job can start once more for each planned end of a job, until the answer is no later than the next
/// planned end. A start that the IPUs dictate stays as it is meanwhile. The stock selector is therefore asked
/// once within a second, and anew in the next cycle.
fn answer_again(
    frontend: &Frontend,
    job: &mut impl JobMut,
    wanted: &Resolved,
    told: Option<Told>,
    test: &mut impl Test,
) -> Verdict {
    let asking = AskingJob::new(frontend, **job, wanted);
    let now = asking.jobs.now();
    // The jobs that it may preempt may differ between two tests.
    let told = told.filter(|told| told.at == now && !test.may_preempt());
    let Some(told) = told else { return Verdict::Go };
    let from = now.max(Seconds(test.not_before().unwrap_or(0)));
    let ipus = AllowedIpus::prepared(&asking).unwrap_or(AllowedIpus::Any(None));
    let start = ipus.forecast(&asking, from);
    if start != told.start || start == Some(from) {
        return Verdict::Go;
    }
    wait_for_ipus(&frontend.test_notes.told, job, told, test)
}

/// Tells backfill a start that the job's IPUs dictate.
///
/// Backfill keeps the chosen nodes for a job from its expected start on. A job that waits for IPUs keeps no
/// node, so that other jobs can run there until its start. Its plan keeps its place in line.
fn wait_for_ipus(
    asked: &BetweenCallbacks<Asked, Told>,
    job: &mut impl JobMut,
    told: Told,
    test: &mut impl Test,
) -> Verdict {
    asked.leave(Asked::of(**job), told);
    let Some(start) = told.start else { return Verdict::Wait };
    test.keep_no_node();
    job.expect_start(start.0);
    Verdict::Answered
}

/// Answers a test after the stock selector said yes.
pub fn after<J: JobMut>(
    frontend: &Frontend,
    job: &mut J,
    question: Question,
    test: &mut impl Test<Job = J::Target>,
) -> Verdict {
    let choice = frontend.test_notes.choice.take(&job.id());
    if question == Question::Start {
        accounting::waive_for_whole_nodes(frontend, job);
    }
    if !job.mentions_vipu() {
        if question == Question::When && job.is_backfill_test() && !job.is_test_of_now() {
            note_component(frontend, job, Some(Seconds(job.start_time())));
        }
        return Verdict::Go;
    }
    let wanted = frontend.models().wanted(**job);
    if let Ok(Some(wanted)) = &wanted {
        // The stock selector has computed the number anew for its nodes.
        accounting::request(frontend, job, wanted);
    }
    if question == Question::Start {
        let victims = frontend.test_notes.victims.take(&job.id());
        let victims: Vec<_> = victims.into_iter().flatten().filter_map(|id| job.other(id)).collect();
        test.preempt(&victims);
        return preparing::on_nodes(frontend, **job, test);
    }
    if question != Question::When {
        return Verdict::Go;
    }
    match wanted {
        Ok(None) => Verdict::Go,
        Ok(Some(wanted)) => start_later(frontend, job, &wanted, choice, test),
        Err(refusal) => frontend.wait(**job, refusal.into_reason()),
    }
}

/// Continues after the stock selector said no. Whether the test has to be repeated for the nodes of another
/// controller.
pub fn refused(frontend: &Frontend, job: impl Job, test: &mut impl Test) -> bool {
    let Some(choice) = frontend.test_notes.choice.take(&job.id()) else { return false };
    choice.put_back(test);
    let next = choice.next();
    let is_repeated = next.is_some();
    next.into_iter().for_each(|next| frontend.test_notes.choice.leave(job.id(), next));
    is_repeated
}

/// Notes when this component of a heterogeneous job with IPUs could start. All its components are then expected at their
/// common start.
fn note_component(frontend: &Frontend, job: &mut impl JobMut, start: Option<Seconds>) {
    let all = components_with_ipus(**job);
    let components: Vec<_> = all.iter().map(|component| component.id()).collect();
    let jobs = InSlurm::new(frontend, **job);
    let common = frontend.ledger().note_component(&components, job.id(), start, &jobs);
    let Some(common) = common else { return };
    let mut earlier = all;
    earlier.retain(|component| component.id() != job.id() && component.start_time() < common.0);
    job.expect_start_of_components(common.0);
    for component in earlier {
        reason_now(frontend, component).into_iter().for_each(|why| frontend.show_reason(component.id(), why));
    }
}

/// All components of a heterogeneous job of which one or more want IPUs. None for another job.
fn components_with_ipus<J: Job>(job: J) -> Vec<J> {
    let all = job.components();
    if all.iter().any(|component| component.mentions_vipu()) { all } else { Vec::new() }
}

/// Corrects the start that the stock selector found: the job cannot start before its IPUs are free.
fn start_later(
    frontend: &Frontend,
    job: &mut impl JobMut,
    wanted: &Resolved,
    choice: Option<Choice>,
    test: &mut impl Test,
) -> Verdict {
    let asking = AskingJob::new(frontend, **job, wanted);
    if AllowedIpus::prepared(&asking).is_some() {
        return Verdict::Go;
    }
    let ipus = AllowedIpus::tried(choice.as_ref());
    let (now, by_backfill) = (asking.jobs.now(), job.is_backfill_test());
    let nodes_free = now.max(Seconds(job.start_time().max(test.not_before().unwrap_or(0))));
    if let Some(mut choice) = choice.filter(|choice| !choice.is_last()) {
        let start = ipus.forecast(&asking, nodes_free);
        if start != Some(now) {
            choice.note_start(start);
            choice.next().into_iter().for_each(|next| frontend.test_notes.choice.leave(job.id(), next));
            return Verdict::Again;
        }
    }
    let start = if by_backfill && !job.is_test_of_now() {
        let start = ipus.plan(&asking, nodes_free);
        note_component(frontend, job, start);
        start
    } else if over_share(frontend, **job, wanted).is_some()
        || mode_host::misfit(frontend, wanted, test.fewest()).is_some()
    {
        None
    } else {
        ipus.forecast(&asking, nodes_free)
    };
    if start == Some(nodes_free) {
        return Verdict::Go;
    }
    let now_by_preemption = test.may_preempt() && nodes_free == now;
    if now_by_preemption
        && ipus.victims(&asking, &candidates(test)).is_some_and(|victims| !victims.is_empty())
    {
        return Verdict::Go;
    }
    if by_backfill && (start.is_none() || !ipus.keep_their_nodes()) {
        let wish = ipus.wish(&asking);
        let why = frontend.ledger().why_not_now(&wish, &asking.jobs);
        if let Err(why) = why {
            let why = node_choice::about(&frontend.models(), &wish, why.into());
            frontend.show_reason(job.id(), why);
        }
        return wait_for_ipus(&frontend.test_notes.told, job, Told { at: now, start }, test);
    }
    job.expect_start(start.map_or(now.0 + BEYOND_ANY_PLAN, |start| start.0));
    Verdict::Go
}
