//! svipu: shows the Pods, the partitions and the waiting jobs of a cluster with IPUs.
//!
//! The program reads the status document and nothing else. The library has all of it but the process: the
//! time, the user and the environment come in as [`Surroundings`], so that tests give them.
#![forbid(unsafe_code)]

mod arguments;
mod bar;
mod document;
mod error;
mod exporter;
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
    let source = find::document(arguments.common.status.as_deref(), surroundings)?;
    let mut page = |show: &dyn Fn(&View<'_>) -> Result<String, Failure>| {
        let status = document::read(&source)?;
        *stderr += &document::warnings(&status, surroundings.now);
        let view = View::new(&status, &arguments.common, surroundings)?;
        let page = show(&view)?;
        *stderr += &view.hidden();
        if !view.has_header() {
            *stderr += &format!("svipu: {}\n", document::age(&status, surroundings.now));
        }
        Ok(page)
    };
    match command {
        Command::Status => page(&status::show),
        Command::Queue => page(&job_queue::show),
        Command::Partitions => page(&partition_list::show),
        Command::Map { all } => page(&|view| map::show(view, *all)),
        Command::When { ipus, time } => page(&|view| when::show(view, *ipus, *time)),
        Command::Job { id } => page(&|view| job::show(view, id)),
        Command::Partition { id } => page(&|view| partition::show(view, id)),
        Command::Exporter { listen } => Err(exporter::serve(*listen, source)),
    }
}
