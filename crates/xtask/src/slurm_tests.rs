//! `cargo xtask slurm-tests`: Slurm's own tests of limits and accounting, with the stock selector and with ours.
//!
//! Slurm's tests say what its limits promise. None of them is part of this project: the caller names a source tree
//! of the installed release. A test that is skipped or fails with the stock selector says something about the
//! cluster; only a difference between the selectors says something about us. The tests request CPUs and memory
//! only, so they run a second time with an IPU for each job.

mod outcome;

use std::{
    fs, iter,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, ensure};
use testbed::{Cluster, Settings, programs, say};

use self::outcome::Outcome;
use crate::{layout::Source, run};

/// The tests of Slurm's `testsuite/expect` that are about limits, or about what limits and accounting count.
/// Tests that pass with neither selector on this cluster are left out: they need a built source tree (24.1, 24.3,
/// 24.4), another configuration (1.40, 8.13, 21.27, 21.41, 34.2) or a later release (5.9, 21.40, 24.6).
/// On Debian, 22.2, 24.2 and 25.1 fail in two parts each: they expect that commands name themselves `slurm`, not
/// `slurm-wlm`. 22.1 skips the parts about wckeys.
const TESTS: &[&str] = &[
    "2.25", "3.16", "12.2", "12.3", "12.4", "12.8", "12.9", "12.10", "17.64", "21.5", "21.10", "21.13",
    "21.15", "21.17", "21.20", "21.21", "21.22", "21.24", "21.26", "21.29", "21.30", "21.31", "21.32",
    "21.33", "21.34", "21.35", "21.36", "21.38", "21.39", "21.43", "22.1", "22.2", "23.2", "24.2", "24.5",
    "24.7", "25.1",
];

/// The tests that differ in the second round for a reason that has nothing to do with limits.
const DIFFER_WITH_AN_IPU: &[(&str, &str)] =
    &[("12.3", "reads the standard error of srun, which warns that three tasks share one GCD")];

/// The longest time of a test. The longest ones set each limit of a QOS in turn, and wait for its effect.
const LIMIT: Duration = Duration::from_secs(1800);

/// The variables by which Slurm's commands request GRES.
const GRES_VARIABLES: [&str; 3] = ["SBATCH_GRES", "SALLOC_GRES", "SLURM_GRES"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selector {
    Stock,
    Ours,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    Plain,
    WithAnIpu,
}

const ROUNDS: [Round; 2] = [Round::Plain, Round::WithAnIpu];

/// How a test ended in each of [`ROUNDS`].
type Outcomes = [Outcome; 2];

/// Runs the tests of these numbers, or all of [`TESTS`], and prints how they ended. Fails if one ended differently
/// with our selector.
pub fn run(source: &Path, numbers: &[String]) -> Result<ExitCode> {
    ensure!(run::is_root(), "this needs root, because slurmd starts jobs as other users");
    let source = Source::open(source)?;
    let installed = programs::slurm_version()?;
    let root = source.root.display();
    ensure!(source.version == installed, "{root} is Slurm {}; {installed} is installed", source.version);
    let all: Vec<_> = TESTS.iter().map(|&number| number.to_owned()).collect();
    let numbers = if numbers.is_empty() { &all } else { numbers };
    for number in numbers {
        let test = source.root.join("testsuite/expect").join(format!("test{number}"));
        ensure!(test.is_file(), "there is no {}", test.display());
    }
    let logs = run::workspace().canonicalize()?.join("target/slurm-tests");
    let of = |selector| outcomes(selector, &source.root, numbers, &logs);
    // Tests wait most of their time.
    let (stock, ours) = thread::scope(|scope| {
        let stock = scope.spawn(|| of(Selector::Stock));
        let ours = of(Selector::Ours);
        (stock.join().unwrap_or_else(|_| Err(anyhow!("the tests with the stock selector panicked"))), ours)
    });
    let differs = show(numbers, &stock?, &ours?);
    println!("\nwhat the tests wrote is in {}", logs.display());
    Ok(if differs { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints the table, and what tests said that did not pass. Returns whether the selectors differ.
fn show(numbers: &[String], stock: &[Outcomes], ours: &[Outcomes]) -> bool {
    let line = |test: &str, [a, b, c, d]: [&str; 4]| println!("{test:<6}  {a:<5}  {b:<5}  {c:<10}  {d}");
    line("test", ["stock", "ours", "stock, IPU", "ours, IPU"]);
    let all = || numbers.iter().zip(iter::zip(stock, ours));
    for (number, (stock, ours)) in all() {
        line(number, [&stock[0], &ours[0], &stock[1], &ours[1]].map(Outcome::word));
    }
    let mut differs = false;
    for (number, (stock, ours)) in all() {
        for (round, (stock, ours)) in ROUNDS.iter().zip(iter::zip(stock, ours)) {
            let expected =
                DIFFER_WITH_AN_IPU.iter().find(|(test, _)| test == number && *round == Round::WithAnIpu);
            match (stock == ours, expected) {
                (true, _) if stock.passed() => {}
                (true, _) => println!("\ntest {number}, {round:?}: {}", stock.said()),
                (false, Some((_, why))) => println!("\ntest {number}, {round:?}: {why}"),
                (false, None) => {
                    differs = true;
                    println!("\ntest {number}, {round:?}: DIFFERENT");
                    println!("  stock: {}\n  ours:  {}", stock.said(), ours.said());
                }
            }
        }
    }
    differs
}

/// Runs each test in both rounds on a cluster of its own.
fn outcomes(selector: Selector, source: &Path, numbers: &[String], logs: &Path) -> Result<Vec<Outcomes>> {
    let cluster = settings(selector).start()?;
    let ran = Suite::prepare(&cluster, source).and_then(|suite| {
        let one = |number: &str, round: Round| {
            let outcome =
                suite.run(&cluster, number, round, &logs.join(format!("{selector:?}-{round:?}")))?;
            say(format!("{selector:?}, {round:?}: test {number}: {}", outcome.word()));
            anyhow::Ok(outcome)
        };
        let both = |number: &String| Ok([one(number, Round::Plain)?, one(number, Round::WithAnIpu)?]);
        numbers.iter().map(both).collect()
    });
    match ran {
        Ok(outcomes) => cluster.finish().map(|()| outcomes),
        Err(error) => {
            cluster.abandon(&error);
            Err(error)
        }
    }
}

/// A cluster that fulfils the conditions of as many tests as possible.
fn settings(selector: Selector) -> Settings {
    let settings = Cluster::settings()
        .memory(4000)
        .create_time(Duration::from_millis(50))
        .accounting()
        .slurm_conf("AccountingStorageEnforce=associations,limits,qos")
        .slurm_conf("PriorityType=priority/multifactor")
        .slurm_conf("JobAcctGatherType=jobacct_gather/linux")
        .slurm_conf("SchedulerParameters=bf_interval=2")
        // Tests look for the job's number in lines that have times, too.
        .slurm_conf("FirstJobId=10001")
        // Tests expect that srun and salloc get free nodes at once. They would wait for a partition before that.
        .vipu_conf("Prepare=no")
        // Tests provoke errors in the logs. The other invariants are checked.
        .expect_log("")
        .logs_stay();
    match selector {
        Selector::Stock => settings.without_plugin(),
        Selector::Ours => settings,
    }
}

/// A copy of the tests in the cluster's folder, because tests write files beside themselves.
struct Suite {
    folder: PathBuf,
    globals: PathBuf,
}

impl Suite {
    fn prepare(cluster: &Cluster, source: &Path) -> Result<Self> {
        // Tests copy slurm.conf to other folders, where what it includes is not.
        let conf = cluster.layout().conf("slurm.conf");
        let beside = format!("\nInclude {}", cluster.layout().conf("").display());
        fs::write(&conf, fs::read_to_string(&conf)?.replace("\nInclude ", &beside))?;
        cluster.scontrol(&["reconfigure"])?;
        let copy = cluster.layout().root().join("testsuite");
        let original = source.join("testsuite");
        let mut cp = Command::new("cp");
        ensure!(
            cp.arg("-R").arg(&original).arg(&copy).status()?.success(),
            "cannot copy {}",
            original.display()
        );
        let sbatch = programs::find("sbatch")?;
        let prefix = sbatch.ancestors().nth(2).context("sbatch is in no folder bin")?.display();
        let (globals, source) = (copy.join("globals.local"), source.display());
        // By pkill tests end each srun and salloc of their user, in other clusters, too.
        let own = format!(
            "set slurm_dir {prefix}\nset build_dir {source}\nset src_dir {source}\nset bin_pkill true\n"
        );
        fs::write(&globals, own)?;
        Ok(Self { folder: copy.join("expect"), globals })
    }

    /// Runs a test, and writes what it said to a file in the folder `logs`.
    fn run(&self, cluster: &Cluster, number: &str, round: Round, logs: &Path) -> Result<Outcome> {
        let script = format!("cd {} && exec expect test{number} 2>&1", self.folder.display());
        let mut command = cluster.command("sh").args(&["-c", &script]);
        command = command.env("SLURM_LOCAL_GLOBALS_FILE", &self.globals.display().to_string());
        if round == Round::WithAnIpu {
            command = GRES_VARIABLES.iter().fold(command, |command, name| command.env(name, "vipu:pod64:1"));
        }
        let output = command.start()?.output(LIMIT)?;
        fs::create_dir_all(logs)?;
        fs::write(logs.join(format!("{number}.log")), &output.stdout)?;
        Ok(Outcome::new(output.code, &output.stdout))
    }
}
