//! A thread for questions whose answers may not come: from a file server that hangs, or a directory of users.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use std::{io, process, thread};

use nix::sys::signal::{SigSet, SigmaskHow};

/// The time in which a usual answer comes. Later ones are not waited for.
const USUAL: Duration = Duration::from_millis(100);

/// The exit status of a Rust program after a panic.
const PANIC: i32 = 101;

/// A thread that answers questions, one after the other. It ends with the process.
pub(crate) struct Background<Q, A> {
    questions: Sender<Q>,
    answers: Receiver<A>,
    /// The questions without an answer.
    open: usize,
    /// The time of the first question since all were answered.
    since: Instant,
}

impl<Q: Send + 'static, A: Send + 'static> Background<Q, A> {
    /// Starts the thread. Signals go to the other threads.
    pub(crate) fn start(answer: impl FnMut(Q) -> A + Send + 'static) -> io::Result<Self> {
        let (questions, asked) = channel();
        let (answered, answers) = channel();
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let work = move || asked.into_iter().map(answer).try_for_each(|answer| answered.send(answer));
        let started = thread::Builder::new().spawn(move || {
            // A panic ends the program, on whichever thread it is.
            catch_unwind(AssertUnwindSafe(work)).map(drop).unwrap_or_else(|_| process::exit(PANIC))
        });
        before.thread_set_mask()?;
        started?;
        Ok(Self { questions, answers, open: 0, since: Instant::now() })
    }

    /// Asks a question.
    pub(crate) fn ask(&mut self, question: Q) {
        if self.open == 0 {
            self.since = Instant::now();
        }
        self.open += usize::from(self.questions.send(question).is_ok());
    }

    /// The next answer. Waits for it only as long as answers usually take.
    pub(crate) fn answer(&mut self) -> Option<A> {
        if self.open == 0 {
            return None;
        }
        let answer = self.answers.recv_timeout(USUAL.saturating_sub(self.since.elapsed())).ok()?;
        self.open -= 1;
        Some(answer)
    }

    /// The time for which an answer has been due.
    pub(crate) fn due(&self) -> Option<Duration> {
        (self.open > 0).then(|| self.since.elapsed())
    }
}
