//! The results of tests by release of Slurm and group of tests.

use std::{
    collections::BTreeMap,
    fmt, mem,
    process::{ExitCode, ExitStatus},
};

use testbed::say;

use crate::phases;

/// The groups that a test's name may begin with. All other tests cover parts of the program alone.
const GROUPS: [&str; 10] = ["job", "sched", "fault", "user", "matrix", "cli", "acct", "pkg", "reuse", "mode"];

const PARTS: &str = "parts";

/// The number of tests whose times are shown.
const LONGEST: usize = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    by_group: BTreeMap<&'static str, Counts>,
    pub failed: Vec<String>,
    /// The error of the last test that failed.
    error: Option<String>,
    /// The tests that failed, and passed when they were tried again, each with its first error.
    at_second_try: Vec<String>,
    /// How many seconds tests, or programs of tests, took.
    times: Vec<(String, f64)>,
}

impl Results {
    pub fn read(&mut self, line: &str) {
        if let Some(error) = line.strip_prefix("Error: ") {
            self.error = Some(error.to_owned());
        }
        let ended = line.strip_prefix("test ").and_then(|line| line.rsplit_once(" ... "));
        let Some((name, outcome)) = ended.map(|(name, outcome)| (name.trim_end(), outcome)) else { return };
        let counts = self.group(name);
        match outcome {
            "ok" => counts.passed += 1,
            "FAILED" => {
                counts.failed += 1;
                self.failed.push(name.to_owned());
            }
            ignored if ignored.starts_with("ignored") => counts.skipped += 1,
            _ => {}
        }
    }

    pub fn group(&mut self, test: &str) -> &mut Counts {
        let name = test.rsplit("::").next().unwrap_or(test);
        let is_of = |group: &&str| name.strip_prefix(*group).is_some_and(|rest| rest.starts_with('_'));
        self.by_group.entry(GROUPS.into_iter().find(is_of).unwrap_or(PARTS)).or_default()
    }

    /// Counts a failure if the tests failed and none said so: a program that crashed prints no result.
    pub fn read_status(&mut self, status: ExitStatus) {
        if !status.success() && self.total().failed == 0 {
            say(format!("the tests ended with {status}, though none reported a failure"));
            self.group("").failed += 1;
        }
    }

    /// These tests are skipped.
    pub fn skipped(tests: impl IntoIterator<Item = String>) -> Self {
        let mut results = Self::default();
        for test in tests {
            results.group(&test).skipped += 1;
        }
        results
    }

    /// Notes how many seconds this test, or program of tests, took.
    pub fn took(&mut self, name: String, seconds: f64) {
        self.times.push((name, seconds));
    }

    pub fn add(&mut self, more: &Self) {
        for (group, counts) in &more.by_group {
            self.by_group.entry(group).or_default().add(counts);
        }
        self.failed.extend_from_slice(&more.failed);
        self.at_second_try.extend_from_slice(&more.at_second_try);
        self.times.extend_from_slice(&more.times);
    }

    /// Replaces the failures by the results of `again`, a second try of these tests alone.
    pub fn replace_failed(&mut self, again: &Self) {
        let error = self.error.take().unwrap_or_else(|| "not known yet".to_owned());
        for name in mem::take(&mut self.failed) {
            self.group(&name).failed -= 1;
            if !again.failed.contains(&name) {
                self.at_second_try.push(format!("{name}: {error}"));
            }
        }
        self.add(again);
    }

    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.by_group.values().for_each(|counts| total.add(counts));
        total
    }
}

impl Counts {
    fn add(&mut self, more: &Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[derive(Debug, Default)]
pub struct Table(Vec<(String, Results)>);

impl Table {
    pub fn add(&mut self, row: &str, results: &Results) {
        match self.0.iter_mut().find(|(known, _)| known == row) {
            Some((_, known)) => known.add(results),
            None => self.0.push((row.to_owned(), results.clone())),
        }
    }

    /// A check that is no test failed.
    pub fn add_failure(&mut self, check: &str) {
        let mut failed = Results::default();
        failed.group(check).failed += 1;
        self.add(check, &failed);
    }

    /// Prints the table if it has several results, where the time went, and the total as the last line.
    pub fn finish(mut self) -> ExitCode {
        let mut all = Results::default();
        self.0.iter().for_each(|(_, results)| all.add(results));
        if all.total().passed + all.total().failed == 0 {
            println!("no test was run: none has such a name, or all were skipped");
            self.0.clear();
        }
        if self.0.len() > 1 {
            println!("{self}");
        }
        println!("{}", phases::table());
        all.times.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        for (name, seconds) in all.times.iter().take(LONGEST).filter(|(_, seconds)| *seconds >= 1.0) {
            println!("{seconds:.0} s: {name}");
        }
        for (row, results) in &self.0 {
            for test in &results.at_second_try {
                println!("passed at its second try only: {row} {test}");
            }
        }
        let total = all.total();
        println!("{total}");
        if total.failed == 0 && total.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| Slurm | group | passed | failed | skipped |\n|---|---|---:|---:|---:|")?;
        for (release, results) in &self.0 {
            for (group, Counts { passed, failed, skipped }) in &results.by_group {
                writeln!(f, "| {release} | {group} | {passed} | {failed} | {skipped} |")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> Results {
        let mut results = Results::default();
        lines.lines().for_each(|line| results.read(line));
        results
    }

    #[test]
    fn tests_are_counted_by_the_group_in_their_name() {
        let results = read(
            "test starts::job_srun ... ok\n\
             test job_salloc    ... FAILED\n\
             test job::passed ... ok\n\
             test jobless ... ok\n\
             test cli_layout_agrees - should panic ... ok\n\
             test user_x ... ignored, needs two hosts\n\
             test result: FAILED. 2 passed; 3 failed; 1 ignored; 0 measured; 9 filtered out\n\
             test user_y has been running for over 60 seconds\n",
        );
        assert_eq!(results.failed, ["job_salloc"]);
        let mut wanted = Results { failed: results.failed.clone(), ..Results::default() };
        *wanted.group("job_") = Counts { passed: 1, failed: 1, skipped: 0 };
        *wanted.group("anything") = Counts { passed: 2, ..Counts::default() };
        *wanted.group("cli_") = Counts { passed: 1, ..Counts::default() };
        *wanted.group("user_") = Counts { skipped: 1, ..Counts::default() };
        assert_eq!(results, wanted);
        assert_eq!(results.total().to_string(), "4 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn the_result_of_a_second_try_counts() {
        let mut results = read("test job_a ... FAILED\nError: gave up after 60 s");
        results.replace_failed(&read("test job_a ... ok"));
        assert_eq!(results.total().to_string(), "1 passed, 0 failed, 0 skipped");
        assert_eq!(results.at_second_try, ["job_a: gave up after 60 s"]);
        let mut results = read("test user_b ... FAILED");
        results.replace_failed(&read("test user_b ... FAILED"));
        assert_eq!(results.total().to_string(), "0 passed, 1 failed, 0 skipped");
        assert_eq!((results.failed, results.at_second_try), (vec!["user_b".into()], vec![]));
    }

    #[test]
    fn the_table_has_a_row_for_each_release_and_group() {
        let mut table = Table::default();
        table.add("22.05.8", &read("test job_a ... ok"));
        table.add("26.05.5", &read("test job_a ... FAILED"));
        table.add("26.05.5", &read("test user_b ... ok"));
        let text = table.to_string();
        assert!(text.contains(
            "| 22.05.8 | job | 1 | 0 | 0 |\n| 26.05.5 | job | 0 | 1 | 0 |\n| 26.05.5 | user | 1 | 0 | 0 |"
        ));
    }
}
