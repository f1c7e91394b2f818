//! svipu: shows the Pods, the partitions and the waiting jobs of a cluster with IPUs.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use svipu::{Arguments, Output, Surroundings};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let surroundings = Surroundings::of_this_process();
    let output = match arguments.is_live(&surroundings) {
        true => svipu::watch(&arguments, surroundings),
        false => svipu::run(&arguments, &surroundings),
    };
    let exit = output.exit;
    let written = match arguments.interval().filter(|_| exit == 0) {
        Some(interval) => repeat(&arguments, output, interval),
        None => write(&output),
    };
    match written {
        // A closed pipe is no error: the reader has read enough.
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "svipu: cannot write: {why}");
            ExitCode::from(1)
        }
        _ => ExitCode::from(exit),
    }
}

fn write(output: &Output) -> io::Result<()> {
    let _ = io::stderr().write_all(output.stderr.as_bytes());
    if let Some(picture) = &output.picture {
        let path = picture.path.display();
        fs::write(&picture.path, &picture.svg)
            .map_err(|why| io::Error::new(why.kind(), format!("{path}: {why}")))?;
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(output.stdout.as_bytes())?;
    stdout.write_all(&output.diff).and_then(|()| stdout.flush())
}

/// Writes page after page, until the reader or a signal ends the process. On a terminal each page covers the
/// one before it.
fn repeat(arguments: &Arguments, mut output: Output, interval: Duration) -> io::Result<()> {
    let terminal = io::stdout().is_terminal();
    loop {
        if terminal {
            // Home; clear the rest of each line, and what is below.
            let page = (output.stdout + &output.stderr).replace('\n', "\u{1b}[K\n");
            output = Output { stdout: format!("\u{1b}[H{page}\u{1b}[J"), ..Output::default() };
        }
        write(&output)?;
        if is_closed_within(interval)? {
            return Ok(());
        }
        output = svipu::run(arguments, &Surroundings::of_this_process());
    }
}

/// Waits, but not longer than the reader of standard output is there.
fn is_closed_within(interval: Duration) -> io::Result<bool> {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let timeout = PollTimeout::try_from(interval).unwrap_or(PollTimeout::MAX);
    Ok(poll(&mut fds, timeout)? > 0)
}
