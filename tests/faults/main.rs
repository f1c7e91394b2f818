//! Every step x every fault, on real daemons and the test build of the plugin, which can be stopped at each step.
//!
//! A test for each pair, `fault_FAULT_at_STEP`: those of [`selection::REDUCED`], unless `VIPU_FAULT_CELLS` says `full`
//! or `smoke`. With `VIPU_FAULT_PREPARE` partitions are made while their jobs wait (`Prepare=all`). With `VIPU_FAULT_REPORT` a table of all that ran goes to that file.
#![forbid(unsafe_code)]

mod cell;
mod fault;
mod report;
mod scene;
mod selection;
mod step;

use std::{process::ExitCode, sync::Arc};

use anyhow::Result;
use libtest_mimic::{Arguments, Trial};

use crate::{fault::Fault, report::Report, step::Step};

/// What the test of a pair is called.
fn name(step: Step, fault: Fault) -> String {
    format!("fault_{}_at_{}", fault.name(), step.name())
}

/// All pairs that there can be.
fn cells() -> impl Iterator<Item = (Step, Fault)> {
    let all = Fault::ALL.into_iter().flat_map(|fault| Step::ALL.map(|step| (step, fault)));
    // Who has his partition as he begins has no launch of ours.
    let all = all.filter(|(step, _)| *step != Step::Launch || !selection::prepares());
    all.filter(|(step, fault)| fault.cannot_strike(*step).is_none())
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let (chosen, report) = (selection::from_environment()?, Arc::new(Report::default()));
    let trial = |(step, fault): (Step, Fault)| {
        let report = Arc::clone(&report);
        Trial::test(name(step, fault), move || {
            let outcome = cell::run(step, fault);
            report.add(step, fault, &outcome);
            outcome.map(drop).map_err(|error| format!("{error:?}").into())
        })
    };
    let mut trials: Vec<_> = cells().filter(|(step, fault)| chosen.has(*step, *fault)).map(trial).collect();
    trials.push(Trial::test("fault_shipped_plugin_has_no_failpoints", || {
        selection::shipped_has_none().map_err(|error| format!("{error:?}").into())
    }));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        report.write()?;
    }
    Ok(conclusion.exit_code())
}
