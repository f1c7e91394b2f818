//! Every step x every fault, on real daemons and the test build of the plugin, which can be stopped at each
//! step. Each mode is tested: partitions made when their jobs have nodes or while the jobs wait, and idle ones.
//!
//! Each pair is a test, `fault_FAULT_at_STEP`, with `_prepared` or `_reused`. The lists in [`selection`]
//! choose the pairs, unless `VIPU_FAULT_CASES` is `full` or `smoke`. [`endless`] has faults that do not end,
//! [`moments`] ends of slurmctld at each tenth of a second around a launch.
//! `VIPU_FAULT_REPORT` names a file for tables of all pairs that ran.
#![forbid(unsafe_code)]

mod case;
mod endless;
mod fault;
mod mode;
mod moments;
mod report;
mod selection;
mod step;
mod stopped_job;
mod strike;

use std::{process::ExitCode, sync::Arc};

use anyhow::Result;
use libtest_mimic::{Arguments, Trial};

use crate::{endless::Endless, fault::Fault, mode::Mode, moments::Moments, report::Report, step::Step};

/// A fault that strikes at a step of a job's life, in one [`Mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    mode: Mode,
    fault: Fault,
    step: Step,
}

impl Case {
    /// Returns all possible cases.
    fn all() -> impl Iterator<Item = Self> {
        let faults = |mode| Fault::all().map(move |fault| (mode, fault));
        let steps = |(mode, fault)| Step::all().map(move |step| Self { mode, fault, step });
        Mode::ALL.into_iter().flat_map(faults).flat_map(steps).filter(|case| case.why_not().is_none())
    }

    /// Returns why this case is impossible.
    fn why_not(self) -> Option<&'static str> {
        if self.mode.has(self.step) {
            self.fault.cannot_strike(self.step)
        } else {
            Some("there is no such step")
        }
    }

    /// Returns the name of the test.
    fn name(self) -> String {
        format!("fault_{}_at_{}{}", self.fault.name(), self.step.name(), self.mode.suffix())
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let (chosen, report) = (selection::from_environment()?, Arc::new(Report::default()));
    let trial = |case: Case| {
        let report = Arc::clone(&report);
        Trial::test(case.name(), move || {
            let outcome = case::run(case);
            report.add(case, &outcome);
            outcome.map(drop).map_err(|error| format!("{error:?}").into())
        })
    };
    let mut trials: Vec<_> = chosen.into_iter().map(trial).collect();
    trials.extend(Endless::ALL.map(|fault| {
        let name = format!("fault_endless_{}", fault.name());
        Trial::test(name, move || endless::run(fault).map_err(|error| format!("{error:?}").into()))
    }));
    let all = selection::is_full();
    trials.extend(Moments::all().filter(|moments| all || moments.is_usual()).map(|moments| {
        let report = Arc::clone(&report);
        Trial::test(moments.name(), move || {
            let fates = moments.run(all);
            report.add_moments(moments, &fates);
            fates.map(drop).map_err(|error| format!("{error:?}").into())
        })
    }));
    trials.push(Trial::test("fault_shipped_plugin_has_no_failpoints", || {
        selection::shipped_has_none().map_err(|error| format!("{error:?}").into())
    }));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        report.write()?;
    }
    Ok(conclusion.exit_code())
}
