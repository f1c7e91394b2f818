//! The terminal: it is taken over at the start, and given back as it was at each end.

use std::io::{self, Stdout, Write as _, stdout};
use std::os::fd::AsFd as _;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{self, KeyEvent};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{execute, queue};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};

/// The signals after which the terminal has to be given back, and the one of a new size.
const SIGNALS: [Signal; 6] =
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGTSTP, Signal::SIGWINCH];

/// Whether the terminal is taken over. A panic and the end of [`Screen`] both give it back, the second in vain.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// What happened.
pub(super) enum Event {
    Key(KeyEvent),
    Signal(Signal),
}

/// The terminal, which shows the alternate screen. Its end and a panic give the terminal back.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// The signals are blocked and read from here, so that none strikes while the screen is drawn.
    signals: SignalFd,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// The terminal's.
    pub fn enter() -> io::Result<Self> {
        let set: SigSet = SIGNALS.into_iter().collect();
        set.thread_block()?;
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // The message would vanish with the alternate screen.
            give_back();
            print(panic);
        }));
        // The option --color and svipu decide. crossterm would look at NO_COLOR once more.
        crossterm::style::force_color_output(true);
        let screen = Self { terminal: terminal()?, signals };
        take()?;
        Ok(screen)
    }

    /// Draws the screen.
    ///
    /// # Errors
    /// The terminal's.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(drop)
    }

    /// Waits until something happens, at most for some time. A new size is told by an empty answer.
    pub(super) fn wait(&mut self, limit: Duration) -> io::Result<Vec<Event>> {
        let stdin = io::stdin();
        let limit = PollTimeout::try_from(limit).unwrap_or(PollTimeout::ZERO);
        let mut sources = [
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut sources, limit) {
            Err(Errno::EINTR) | Ok(_) => {}
            Err(why) => return Err(why.into()),
        }
        let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
        let is_gone = sources[0].revents().is_some_and(|events| events.intersects(gone));
        let mut events = Vec::new();
        while let Some(signal) = self.signals.read_signal()? {
            events.extend(
                number(signal.ssi_signo).filter(|signal| *signal != Signal::SIGWINCH).map(Event::Signal),
            );
        }
        if is_gone && events.is_empty() {
            return Err(io::Error::other("the terminal is gone"));
        }
        while !is_gone && event::poll(Duration::ZERO)? {
            if let event::Event::Key(key) = event::read()? {
                events.push(Event::Key(key));
            }
        }
        Ok(events)
    }

    /// Gives the terminal back, and stops until the shell continues the program.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        give_back();
        act(Signal::SIGTSTP)?;
        // A new one draws all of the screen. To clear the old one would ask the terminal for its cursor.
        self.terminal = terminal()?;
        take()
    }

    /// Gives the terminal back, and dies of a signal.
    pub(super) fn die(&mut self, signal: Signal) -> io::Result<()> {
        give_back();
        act(signal)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Lets a signal act as if it had not been blocked.
fn act(signal: Signal) -> io::Result<()> {
    let set = SigSet::from(signal);
    set.thread_unblock()?;
    raise(signal)?;
    Ok(set.thread_block()?)
}

fn terminal() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    Terminal::new(CrosstermBackend::new(stdout()))
}

fn number(signal: u32) -> Option<Signal> {
    Signal::try_from(i32::try_from(signal).ok()?).ok()
}

fn take() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, Hide)
}

/// Gives the terminal back if it is taken. There is nobody to tell about errors of the terminal.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = queue!(stdout(), LeaveAlternateScreen, Show);
        let _ = stdout().flush();
        let _ = disable_raw_mode();
    }
}
