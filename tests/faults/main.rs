//! Every step x every fault, on real daemons and the test build of the plugin, which can be stopped at each step; both with
//! partitions that are made when their jobs have nodes and while they wait.
//!
//! A test for each, `fault_FAULT_at_STEP` and `fault_FAULT_at_STEP_prepared`: those of [`selection`]'s lists, unless
//! `VIPU_FAULT_CELLS` says `full` or `smoke`. With `VIPU_FAULT_REPORT` tables of all that ran go to that file.
#![forbid(unsafe_code)]

mod cell;
mod fault;
mod report;
mod scene;
mod selection;
mod step;
mod way;

use std::{process::ExitCode, sync::Arc};

use anyhow::Result;
use libtest_mimic::{Arguments, Trial};

use crate::{fault::Fault, report::Report, step::Step, way::Way};

/// A fault that strikes at a step of a job's life, in one of the ways in which jobs get their partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    way: Way,
    fault: Fault,
    step: Step,
}

impl Cell {
    /// All that there can be.
    fn all() -> impl Iterator<Item = Self> {
        let faults = |way| Fault::ALL.into_iter().map(move |fault| (way, fault));
        let steps = |(way, fault)| Step::ALL.into_iter().map(move |step| Self { way, fault, step });
        Way::ALL.into_iter().flat_map(faults).flat_map(steps).filter(|cell| cell.why_not().is_none())
    }

    /// Why this cannot be.
    fn why_not(self) -> Option<&'static str> {
        if self.way.has(self.step) {
            self.fault.cannot_strike(self.step)
        } else {
            Some("there is no such step")
        }
    }

    /// What its test is called.
    fn name(self) -> String {
        format!("fault_{}_at_{}{}", self.fault.name(), self.step.name(), self.way.suffix())
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let (chosen, report) = (selection::from_environment()?, Arc::new(Report::default()));
    let trial = |cell: Cell| {
        let report = Arc::clone(&report);
        Trial::test(cell.name(), move || {
            let outcome = cell::run(cell);
            report.add(cell, &outcome);
            outcome.map(drop).map_err(|error| format!("{error:?}").into())
        })
    };
    let mut trials: Vec<_> = Cell::all().filter(|cell| chosen.has(*cell)).map(trial).collect();
    trials.push(Trial::test("fault_shipped_plugin_has_no_failpoints", || {
        selection::shipped_has_none().map_err(|error| format!("{error:?}").into())
    }));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        report.write()?;
    }
    Ok(conclusion.exit_code())
}
