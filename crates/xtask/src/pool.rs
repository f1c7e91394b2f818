//! Tests beside each other: single tests that start daemons, here and in containers, and whole programs of others.
//!
//! A failed test on daemons gets a second try, alone and after all others: a run starts about 2,000 daemons on few cores.
//! Now and then a daemon is so late that a test's limit passes, or Slurm itself loses a race. The end of the run names
//! these tests.

use std::{
    cmp::Reverse,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Instant,
};

use anyhow::{Context as _, Result, bail};
use testbed::say;

use crate::long_tests;
use crate::results::{Counts, Results, Table};

/// The largest number of failures that are tried again. More of them are no accident.
const ACCIDENTS: usize = 8;

/// The number of whole clusters of containers at a time. Each has nine hosts.
const CLUSTERS: usize = 3;

/// Makes the command of a test program with these arguments for its harness.
pub type Program = Arc<dyn Fn(&[&str]) -> Command + Send + Sync>;

/// The work of one process.
pub struct Work {
    /// The row of the table of results: a release of Slurm.
    row: String,
    /// The test, or the program of several tests.
    name: String,
    is_single: bool,
    /// Whether it starts a whole cluster of containers.
    is_cluster: bool,
    program: Program,
    /// The arguments that select its tests.
    selection: Vec<String>,
}

impl Work {
    /// One test.
    pub fn test(row: &str, program: &Program, test: &str) -> Self {
        Self { is_single: true, ..Self::tests(row, program, test, &["--exact", test]) }
    }

    /// The tests of a program that these arguments select.
    pub fn tests(row: &str, program: &Program, name: &str, selection: &[&str]) -> Self {
        let selection = selection.iter().map(|&word| word.to_owned()).collect();
        let (row, name, program) = (row.to_owned(), name.to_owned(), Arc::clone(program));
        Self { row, name, is_single: false, is_cluster: false, program, selection }
    }

    /// One test that starts a whole cluster of containers.
    pub fn cluster(row: &str, program: &Program, test: &str) -> Self {
        Self { is_cluster: true, ..Self::test(row, program, test) }
    }

    /// Runs it. Shows its output if a test fails. `number` is its place in the run.
    fn run(&self, number: &str) -> Result<Results> {
        let began = Instant::now();
        let words: Vec<_> = self.selection.iter().map(String::as_str).collect();
        let output = without_traces(&mut (self.program)(&words)).stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot run the tests of {}", self.name))?;
        let (seconds, text) = (began.elapsed().as_secs_f64(), String::from_utf8_lossy(&output.stdout));
        let mut results = Results::default();
        text.lines().for_each(|line| results.read(line));
        if self.is_single && results.total() == Counts::default() {
            results.read(&format!("test {} ... FAILED", self.name));
        }
        results.read_status(output.status);
        results.took(format!("{}, {}", self.name, self.row), seconds);
        if results.total() == Counts::default() {
            return Ok(results);
        }
        let counts = results.total();
        let what = match counts {
            Counts { passed: 1, failed: 0, skipped: 0 } => "passed".to_owned(),
            _ => counts.to_string(),
        };
        say(format!("{number} {} {}: {what} in {seconds:.1} s", self.row, self.name));
        if counts.failed > 0 || !output.status.success() {
            let text = text.replace(" ... FAILED", " ... not passed");
            println!("{text}{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(results)
    }
}

/// Does this work, the longest first, with this number of processes at a time.
pub fn run(mut works: Vec<Work>, processes: usize, table: &mut Table) -> Result<()> {
    works.sort_by_key(|work| Reverse(long_tests::seconds(&work.name)));
    let queue = Mutex::new(Queue { waiting: works.iter().zip(1..).collect(), clusters: 0 });
    let queue = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let done = Mutex::new(Vec::new());
    let process = || -> Result<()> {
        while let Some((work, number)) = { queue().take() } {
            let results = work.run(&format!("[{number}/{}]", works.len()));
            queue().clusters -= usize::from(work.is_cluster);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((work, results?));
        }
        Ok(())
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..processes).map(|_| scope.spawn(process)).collect();
        all.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| bail!("a panic")))
    })?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    try_again(&mut done)?;
    for (work, results) in done {
        results.failed.iter().for_each(|test| println!("test {test} ... FAILED ({})", work.row));
        table.add(&work.row, &results);
    }
    Ok(())
}

struct Queue<'a> {
    /// The work that has not begun, each with its number.
    waiting: Vec<(&'a Work, usize)>,
    /// The number of clusters of containers that run.
    clusters: usize,
}

impl<'a> Queue<'a> {
    /// Takes the next work. `None` if only clusters are left, and enough of them run.
    fn take(&mut self) -> Option<(&'a Work, usize)> {
        let may_begin = |(work, _): &(&Work, usize)| !work.is_cluster || self.clusters < CLUSTERS;
        let at = self.waiting.iter().position(may_begin)?;
        let taken = self.waiting.remove(at);
        self.clusters += usize::from(taken.0.is_cluster);
        Some(taken)
    }
}

/// Tries failed tests on daemons again, if they are few.
fn try_again(done: &mut [(&Work, Results)]) -> Result<()> {
    let failed = done.iter_mut().filter(|(work, results)| work.is_single && results.total().failed > 0);
    let failed: Vec<_> = failed.collect();
    if failed.len() <= ACCIDENTS {
        for (work, results) in failed {
            results.replace_failed(&work.run("a second try:")?);
        }
    }
    Ok(())
}

/// The text of an error names its origin. A stack trace of the test would hide it.
fn without_traces(tests: &mut Command) -> &mut Command {
    match std::env::var_os("RUST_LIB_BACKTRACE") {
        None => tests.env("RUST_LIB_BACKTRACE", "0"),
        Some(_) => tests,
    }
}

/// The number of tests on daemons that run at a time. It exceeds the number of processors, because these tests mostly
/// wait.
pub fn waiting_processes() -> usize {
    (5 * processors()).clamp(5, 20)
}

pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
