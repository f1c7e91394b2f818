//! The tables of all pairs that ran.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write,
    fs,
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::Result;
use testbed::programs;

use crate::{
    Case,
    case::Outcome,
    fault::Fault,
    mode::Mode,
    moments::{Fates, Moments},
    step::Step,
};

const HEAD: &str = "\
# Every step, every fault

A test stops a job of 16 IPUs at one step of its life, on real daemons. Then one fault strikes and
ends. The test passes if all this is true within 60 s after all daemons are up again:

* Each partition and each file that is left belongs to a job.
* The job has ended, waits with a reason, or runs on.
* Another job has run with all 64 IPUs.
* slurmctld has not crashed, no IPU has had two owners, and every job that Slurm had saved is
  there.

A cell shows the seconds from the end of the fault until all was well, and the state of the first
job at that time. Most of this time is the run of the other job.

| state | meaning |
|---|---|
| *pending* | the job waits for the two minutes for which Slurm delays a requeued job |
| *held* | the job waits until it is released, or until the cause in its reason is gone |
| *unknown* | slurmctld knows nothing of the job |

`cargo xtask test --faults full` writes this page. `cargo xtask test` runs each step and each fault
at least once, and the pairs that behave differently for prepared and idle partitions. To run one
pair in each way: `cargo xtask test --faults full fault_kill_at_begin`. [step.rs](../tests/faults/step.rs)
and [fault.rs](../tests/faults/fault.rs) explain the steps and the faults.

Failed pairs are listed at the end. Slurm 22.05 itself can lose a launch at `scontrol reconfigure`
([roadmap](../ROADMAP.md#recovery)).

";

const OF_MOMENTS: &str = "\
## Each tenth of a second around a launch

slurmctld ends between the controller's answer and two seconds after the launch, once at each tenth of a second,
and is started again. After kill -9, Slurm has saved that the job has its nodes, and not its launch. No script
begins twice in one run, and each job ends with the exit code of its script.

| fate | meaning |
|---|---|
| *once* | the job ran once |
| *requeued* | its first run did not get to its end, and it was requeued |
| *held* | as *requeued*, after somebody had released it |
| *run again* | Slurm did not know the end of its first run, and it was requeued |
| *not saved* | Slurm did not know it any more |

| slurmctld | job | jobs by their fates |
|---|---|---|";

/// The outcome of each test that ran, or the reason of its failure.
#[derive(Default)]
pub struct Report {
    pairs: Mutex<Outcomes>,
    moments: Mutex<BTreeMap<Moments, Result<Fates, String>>>,
}

type Outcomes = BTreeMap<Case, Result<Outcome, String>>;

/// A failure is one short line in the report.
fn in_a_line<T: Clone>(outcome: &Result<T>) -> Result<T, String> {
    outcome
        .as_ref()
        .cloned()
        .map_err(|error| format!("{error:#}").lines().next().unwrap_or_default().chars().take(160).collect())
}

fn locked<T>(outcomes: &Mutex<T>) -> MutexGuard<'_, T> {
    outcomes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Report {
    pub fn add(&self, case: Case, outcome: &Result<Outcome>) {
        locked(&self.pairs).insert(case, in_a_line(outcome));
    }

    pub fn add_moments(&self, moments: Moments, fates: &Result<Fates>) {
        locked(&self.moments).insert(moments, in_a_line(fates));
    }

    /// Writes the report to the file that `VIPU_FAULT_REPORT` names, if it is set.
    pub fn write(&self) -> Result<()> {
        let Some(file) = env::var_os("VIPU_FAULT_REPORT") else { return Ok(()) };
        Ok(fs::write(file, self.text()?)?)
    }

    fn text(&self) -> Result<String> {
        let outcomes = locked(&self.pairs);
        let mut reasons = Vec::new();
        let passed = outcomes.values().filter(|outcome| outcome.is_ok()).count();
        let mut text = format!(
            "{HEAD}{} of {} passed on Slurm {}.\n\n",
            passed,
            outcomes.len(),
            programs::slurm_version()?
        );
        for mode in Mode::ALL {
            table(&mut text, mode, &outcomes, &mut reasons)?;
        }
        self.table_of_moments(&mut text)?;
        for (number, reason) in reasons.iter().enumerate() {
            writeln!(text, "({}) {reason}.  ", number + 1)?;
        }
        let failed = outcomes.iter().filter_map(|(case, outcome)| Some((case, outcome.as_ref().err()?)));
        for (number, (case, why)) in failed.enumerate() {
            if number == 0 {
                text.push_str("\nFailed:\n\n");
            }
            writeln!(text, "* `{}`: {why}", case.name())?;
        }
        Ok(text)
    }

    /// Writes the table of the moments around a launch.
    fn table_of_moments(&self, text: &mut String) -> Result<()> {
        let moments = locked(&self.moments);
        if moments.is_empty() {
            return Ok(());
        }
        writeln!(text, "{OF_MOMENTS}")?;
        for (moments, fates) in moments.iter() {
            let [end, job] = moments.words();
            let fates = match fates {
                Ok(fates) => {
                    fates.iter().map(|(fate, jobs)| format!("{jobs} {fate}")).collect::<Vec<_>>().join(", ")
                }
                Err(why) => format!("**failed**: {why}"),
            };
            writeln!(text, "| {end} | {job} | {fates} |")?;
        }
        text.push('\n');
        Ok(())
    }
}

/// Writes the table of one mode. The reasons for impossible pairs are numbered.
fn table(text: &mut String, mode: Mode, outcomes: &Outcomes, reasons: &mut Vec<&'static str>) -> Result<()> {
    let steps: Vec<_> = Step::all().filter(|step| mode.has(*step)).collect();
    let names: Vec<_> = steps.iter().map(|step| step.name().replace('_', " ")).collect();
    writeln!(text, "## {}\n", mode.words())?;
    writeln!(text, "| fault | {} |\n|---|{}", names.join(" | "), "---|".repeat(steps.len()))?;
    for fault in Fault::all() {
        write!(text, "| {} |", fault.words())?;
        for step in &steps {
            let case = Case { mode, fault, step: *step };
            let words = match (case.why_not(), outcomes.get(&case)) {
                (Some(reason), _) => format!("n/a ({})", number_of(reason, reasons)),
                (None, Some(Ok(Outcome { recovered, job }))) => {
                    format!("{:.1} {job}", recovered.as_secs_f64())
                }
                (None, Some(Err(_))) => "**failed**".into(),
                (None, None) => "not run".into(),
            };
            write!(text, " {words} |")?;
        }
        text.push('\n');
    }
    text.push('\n');
    Ok(())
}

fn number_of(reason: &'static str, reasons: &mut Vec<&'static str>) -> usize {
    let known = reasons.iter().position(|known| *known == reason);
    known.unwrap_or_else(|| {
        reasons.push(reason);
        reasons.len() - 1
    }) + 1
}
