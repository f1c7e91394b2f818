//! svipu: shows the Pods, the partitions and the waiting jobs of a cluster with IPUs.
//!
//! Most commands read the status document and nothing else; `conf` and `migrate` read configuration files. The
//! library has all of it but the process: the time, the user and the environment come in as [`Surroundings`],
//! so that tests give them.
#![forbid(unsafe_code)]

mod arguments;
mod bar;
mod conf;
mod document;
mod error;
mod find;
mod job;
mod job_queue;
mod map;
mod migrate;
mod model_lines;
mod names;
mod page;
mod partition;
mod partition_list;
mod safe;
mod selection;
mod slurm_files;
mod status;
mod surroundings;
mod table;
mod times;
mod uses;
mod view;
mod when;

pub use arguments::Arguments;
pub use surroundings::{Surroundings, Users};

use arguments::{Command, Conf};
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
    match answer(arguments, surroundings, &mut output) {
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
    output: &mut Output,
) -> Result<String, Failure> {
    let command = arguments.command.as_ref().unwrap_or(&Command::Status);
    if arguments.common.format.is_some() && !matches!(command, Command::Queue | Command::Partitions) {
        return Err(Failure::NoColumns);
    }
    let shows_json =
        !matches!(command, Command::Migrate { .. } | Command::Conf(Conf::Check { .. } | Conf::Generate(_)));
    if arguments.common.json && !shows_json {
        return Err(Failure::NoJson);
    }
    let mut page = |show: &dyn Fn(&View<'_>) -> Result<String, Failure>| {
        let path = find::document(arguments.common.status.as_deref(), surroundings)?;
        let status = document::read(&path)?;
        output.stderr += &document::warnings(&status, surroundings.now);
        let view = View::new(&status, &arguments.common, surroundings)?;
        let page = show(&view)?;
        output.stderr += &view.hidden();
        if !view.has_header() {
            output.stderr += &format!("svipu: {}\n", document::age(&status, surroundings.now));
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
        Command::Conf(command) => conf::run(command, &arguments.common, surroundings, output),
        Command::Migrate { slurm_conf } => {
            migrate::show(slurm_conf.as_deref(), &arguments.common, surroundings)
        }
    }
}
