//! The end-to-end tests that `cargo xtask ci` runs on each release of Slurm.
//!
//! What differs between releases is Slurm's, and so is what these files test. The others test our own policy, which is
//! the same in each release: a quarter of them runs there, another one at the next commit. `cargo xtask ci --full` and
//! `cargo xtask test --matrix` run all of them.

/// Files and folders of `tests/e2e`, each with the reason.
const ON_EVERY_RELEASE: [(&str, &str); 25] = [
    ("account::counts::", "Slurm counts TRES in functions that releases change"),
    ("account::limits::", "the reasons of Slurm's limits, and when they are asked"),
    ("account::preemption::", "preemption of jobs with counted TRES"),
    ("account::restarts::", "the order in which slurmctld restores its counts"),
    ("account::slurmdbd::", "the messages for slurmdbd, and what slurmctld does without it"),
    ("account::steps::", "the record of a step"),
    ("change::cancels::", "states of a job that ends before its launch"),
    ("change::conf_files::", "a reconfigure is an exec from 23.11 on"),
    ("deliver::environment::", "the variables that Slurm sets for steps"),
    ("deliver::gcds::", "the tasks of a step"),
    ("deliver::gres_plugin::", "the functions of a gres plugin"),
    ("deliver::prolog_and_epilog::", "the order of prolog, launch and epilog"),
    ("leave::", "the file in which slurmctld saves its jobs"),
    ("mode::pool_of_forgotten_job::", "what slurmd does with a job that slurmctld does not know"),
    ("see::steering::", "a reconfigure in place, and the words of scontrol"),
    ("share::layering::", "the functions of a selector, and which of them Slurm calls when"),
    ("start::basic_jobs::", "the way of a job from its submit to its end"),
    (
        "start::options::",
        "SPANK options, where Slurm keeps them, and the records of Slurm partitions and nodes",
    ),
    ("survive::backup::", "handing control back"),
    ("survive::ends_around_a_launch::", "the end of slurmctld, and its queue of messages"),
    ("survive::killed_behind_a_launch::", "what Slurm saves of a job, and when"),
    ("survive::lost_launches::", "registrations of nodes"),
    ("survive::plugin_", "how Slurm loads plugins"),
    ("survive::slurm", "the start of slurmctld, its crashes, and the releases that are known"),
    ("wait::", "the schedulers, backfill, reservations and what they do to a reason"),
];

/// The number of commits in which each of the other tests runs once.
const TURNS: u64 = 4;

/// Whether this test runs on each release at the commit with this number.
pub fn is_of(test: &str, number: u64) -> bool {
    ON_EVERY_RELEASE.iter().any(|(place, _)| test.starts_with(place)) || turn(test) == number % TURNS
}

/// The turn of a test. It does not change when other tests come or go.
fn turn(test: &str) -> u64 {
    test.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % TURNS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_exist() {
        let folder = crate::run::workspace().join("tests/e2e");
        for (place, _) in ON_EVERY_RELEASE {
            let path = folder.join(place.trim_end_matches("::").replace("::", "/"));
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let mut beside = std::fs::read_dir(path.parent().unwrap()).unwrap();
            let is_of_it = |found: &str| match place.ends_with("::") {
                true => found.trim_end_matches(".rs") == name,
                false => found.starts_with(&name),
            };
            assert!(beside.any(|file| is_of_it(&file.unwrap().file_name().to_string_lossy())), "{place}");
        }
    }

    #[test]
    fn each_test_has_its_turn() {
        let tests: Vec<_> =
            (0..40).map(|n| format!("keep::job_{n}")).chain(["wait::line::sched_a".into()]).collect();
        for test in &tests {
            let times = (100..100 + TURNS).filter(|number| is_of(test, *number)).count();
            assert_eq!(times, if test.starts_with("wait::") { 4 } else { 1 }, "{test}");
        }
        assert!((100..100 + TURNS).all(|number| tests.iter().filter(|test| is_of(test, number)).count() > 5));
    }
}
