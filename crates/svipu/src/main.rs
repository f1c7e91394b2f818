//! svipu: shows the Pods, the partitions and the waiting jobs of a cluster with IPUs.
#![forbid(unsafe_code)]

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use svipu::{Arguments, Surroundings};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let surroundings = Surroundings::of_this_process();
    let output = match arguments.is_live(&surroundings) {
        true => svipu::watch(&arguments, surroundings),
        false => svipu::run(&arguments, &surroundings),
    };
    // A closed pipe is no error: the reader has read enough.
    let _ = io::stderr().write_all(output.stderr.as_bytes());
    let mut stdout = io::stdout().lock();
    match stdout.write_all(output.stdout.as_bytes()).and_then(|()| stdout.flush()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "svipu: cannot write: {why}");
            ExitCode::from(1)
        }
        _ => ExitCode::from(output.exit),
    }
}
