//! svipu: shows the Pods, the partitions and the waiting jobs of a cluster with IPUs.
//!
//! The program reads the status document and nothing else. The library has all of it but the process: the
//! time, the user and the environment come in as [`Surroundings`], so that tests give them.
#![forbid(unsafe_code)]

mod arguments;
mod bar;
mod document;
mod error;
mod find;
mod job;
mod job_queue;
mod map;
mod model_lines;
mod names;
mod page;
mod partition;
mod partition_list;
mod safe;
mod selection;
mod status;
mod steering;
mod surroundings;
mod table;
mod times;
mod uses;
mod view;
mod when;

pub use arguments::Arguments;
pub use surroundings::{Surroundings, Users};

use arguments::Command;
use error::Failure;
use view::View;

/// The output of one run.
#[derive(Debug, Default)]
pub struct Output {
    /// The text for standard output.
    pub stdout: String,
    /// The text for standard error.
    pub stderr: String,
    /// The exit status.
    pub exit: u8,
}

/// Carries out a command line.
pub fn run(arguments: &Arguments, surroundings: &Surroundings) -> Output {
    let mut output = Output::default();
    match answer(arguments, surroundings, &mut output.stderr) {
        Ok(stdout) => output.stdout = stdout,
        Err(failure) => {
            let words = safe::cut(&failure.to_string(), safe::LINE);
            let words = if surroundings.utf8() { words } else { safe::ascii(&words) };
            output.stderr += &format!("svipu: {words}\n");
            output.exit = failure.exit();
        }
    }
    output
}

fn answer(
    arguments: &Arguments,
    surroundings: &Surroundings,
    stderr: &mut String,
) -> Result<String, Failure> {
    let command = arguments.command.as_ref().unwrap_or(&Command::Status);
    if arguments.common.format.is_some() && !matches!(command, Command::Queue | Command::Partitions) {
        return Err(Failure::NoColumns);
    }
    if let Some(request) = steering::request(command, surroundings) {
        return steering::carry_out(&request, arguments.common.socket.as_deref(), surroundings);
    }
    let path = find::document(arguments.common.status.as_deref(), surroundings)?;
    let status = document::read(&path)?;
    *stderr += &document::warnings(&status, surroundings.now);
    let view = View::new(&status, &arguments.common, surroundings)?;
    let page = match command {
        Command::Status => status::show(&view),
        Command::Queue => job_queue::show(&view),
        Command::Partitions => partition_list::show(&view),
        Command::Map { all } => map::show(&view, *all),
        Command::When { ipus, time } => when::show(&view, *ipus, *time),
        Command::Job { id } => job::show(&view, id),
        Command::Partition { id, .. } => partition::show(&view, id.as_deref().unwrap_or_default()),
        Command::Drain { .. } | Command::Resume(_) | Command::Reconcile => Ok(String::new()), // slurmctld has carried it out.
    }?;
    *stderr += &view.hidden();
    if !view.has_header() {
        *stderr += &format!("svipu: {}\n", document::age(&status, surroundings.now));
    }
    Ok(page)
}
