//! How a test of Slurm ended.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Passed,
    Failed,
    Skipped,
}

/// How a test ended, and why. Outcomes are equal if a test failed at the same places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    status: Status,
    /// What the test said of failures and of parts that it skipped, with `#` for numbers, which differ in each run.
    complaints: Vec<String>,
}

impl Outcome {
    /// The outcome of a test that ended with this code and wrote this.
    pub fn new(code: i32, written: &str) -> Self {
        let status = match code {
            0 => Status::Passed,
            // Slurm's tests end with -1 when they are skipped.
            255 => Status::Skipped,
            _ => Status::Failed,
        };
        Self { status, complaints: written.lines().filter_map(complaint).collect() }
    }

    pub fn passed(&self) -> bool {
        self.status == Status::Passed
    }

    pub fn word(&self) -> &'static str {
        match self.status {
            Status::Passed => "pass",
            Status::Failed => "fail",
            Status::Skipped => "skip",
        }
    }

    pub fn said(&self) -> String {
        let reasons =
            if self.complaints.is_empty() { "no reason".into() } else { self.complaints.join("; ") };
        format!("{}: {reasons}", self.word())
    }
}

/// The message of a line `[time] Level message (backtrace)` about a failure, or about something that was skipped.
fn complaint(line: &str) -> Option<String> {
    let (_, rest) = line.trim_end().strip_prefix('[')?.split_once("] ")?;
    let (level, message) = rest.split_once(' ')?;
    // Before the backtrace some messages have the state of a job in brackets, which depends on the moment.
    let message = message.split(" (").next()?.trim_start();
    let matters = match level {
        "Fatal" | "Error" => true,
        "Warning" => rest.contains("skip"),
        _ => false,
    };
    matters.then(|| without_numbers(message))
}

fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        match letter.is_ascii_digit() {
            true if shown.ends_with('#') => {}
            true => shown.push('#'),
            false => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_says_how_a_test_ended() {
        let words = [0, 1, 255, 137].map(|code| Outcome::new(code, "").word());
        assert_eq!(words, ["pass", "fail", "skip", "fail"]);
    }

    #[test]
    fn only_failures_and_skips_count() {
        let written = "spawn /usr/bin/srun\n\
                       [2026-11-24 16:07:48.082] Debug   Job 6 is DONE (wait_for_job@globals:2)\n\
                       [2026-11-24 16:07:48.082] Error   Job 6 failed (Reason=None) (subfail@globals:596,test12.4:527)\r\n\
                       [2026-11-24 16:07:48.082] Warning No job can run (skip@globals:467,test12.3:63)\n\
                       [2026-11-24 16:07:48.082] Warning It is late (log_warn@globals:467,test12.3:63)\n";
        let outcome = Outcome::new(1, written);
        assert_eq!(outcome.said(), "fail: Job # failed; No job can run");
        assert_eq!(outcome, Outcome::new(1, &written.replace("Job 6", "Job 10007")));
        assert_ne!(outcome, Outcome::new(1, &written.replace("Job 6", "Step 6")));
    }
}
