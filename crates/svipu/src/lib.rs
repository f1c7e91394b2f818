//! svipu: shows the Pods, the partitions and the waiting jobs of a cluster with IPUs.
//!
//! Most commands read the status document, some the audit log beside it, and nothing else; `conf` and `migrate`
//! read configuration files; `limits` asks slurmctld. The library has all of it but the process: the time, the
//! user and the environment come in as [`Surroundings`], so that tests give them.
#![forbid(unsafe_code)]

mod arguments;
mod audit_log;
mod background;
mod completions_and_man_pages;
mod conf;
mod container_options;
mod doctor;
mod drains;
mod environment;
mod error;
mod examples;
mod exporter;
mod find_document;
mod free;
mod history;
mod hostfile;
mod ipu;
mod ipu_use;
mod job;
mod job_queue;
mod license_reservations;
mod limits;
mod map;
mod migrate;
mod model_lines;
mod names;
mod network_interface;
mod other_partitions;
mod page;
mod partition;
mod plan;
mod read_document;
mod safe;
mod slurm_command;
mod slurm_files;
mod status;
mod steering;
mod surroundings;
mod svg;
mod svipu_toml;
mod table;
mod times;
mod top;
mod user;
mod user_names;
mod view;
mod when;
mod why;

pub use arguments::Arguments;
pub use surroundings::Surroundings;
pub use top::{Next, Screen, Top, watch};
pub use user_names::Users;

use std::path::{Path, PathBuf};

use arguments::Command;
use error::Failure;
use svipu_toml::Configuration;
use view::View;
use vipu_admin::Request;

/// A file that a command writes.
#[derive(Debug)]
pub struct Picture {
    /// Its path, as the user gave it.
    pub path: PathBuf,
    /// Its content.
    pub svg: String,
}

/// The output of one run.
#[derive(Debug, Default)]
pub struct Output {
    /// The text for standard output.
    pub stdout: String,
    /// A diff for standard output, behind the text, with all bytes of the files.
    pub diff: Box<[u8]>,
    /// The text for standard error.
    pub stderr: String,
    /// The picture, if the user asked for one in a file.
    pub picture: Option<Picture>,
    /// The exit status.
    pub exit: u8,
}

/// Carries out a command line.
pub fn run(arguments: &Arguments, surroundings: &Surroundings) -> Output {
    let mut output = Output::default();
    match answer(arguments, surroundings, &mut output) {
        Ok(text) => output.put(text, arguments.picture()),
        Err(failure) => {
            let failed = Output::of(&failure, surroundings.utf8());
            output.stderr += &failed.stderr;
            output.exit = failed.exit;
        }
    }
    output
}

impl Output {
    /// Takes the result of the command: text for standard output, or a picture for a file.
    fn put(&mut self, made: String, picture: Option<&Path>) {
        match picture {
            Some(path) if path != Path::new("-") => {
                self.picture = Some(Picture { path: path.into(), svg: made });
            }
            _ => self.stdout = made,
        }
    }

    fn of(failure: &Failure, utf8: bool) -> Self {
        let words = safe::cut(&failure.to_string(), safe::LINE);
        let words = if utf8 { words } else { safe::ascii(&words) };
        Self { stderr: format!("svipu: {words}\n"), exit: failure.exit(), ..Self::default() }
    }
}

fn answer(
    arguments: &Arguments,
    surroundings: &Surroundings,
    output: &mut Output,
) -> Result<String, Failure> {
    let command = arguments.command.as_ref().unwrap_or(&Command::Status);
    let has_columns = matches!(command, Command::Queue | Command::Partitions | Command::Limits { .. })
        && !arguments.common.json;
    if arguments.common.format.is_some() && !has_columns {
        return Err(Failure::NoColumns);
    }
    if arguments.common.json && !command.has_json() {
        return Err(Failure::NoJson);
    }
    if arguments.common.interval().is_some() && !command.can_be_repeated() {
        return Err(Failure::NoInterval);
    }
    let place = || {
        let configuration = Configuration::read(surroundings)?;
        let common = configuration.complete(&arguments.common, command);
        let place =
            find_document::place(common.status.as_deref(), configuration.status.as_deref(), surroundings)?;
        Ok::<_, Failure>((common, place))
    };
    let found = || {
        let (common, place) = place()?;
        Ok::<_, Failure>((common, find_document::at(place)?))
    };
    let mut page = |show: &dyn Fn(&View<'_>) -> Result<String, Failure>| {
        let (mut common, source) = found()?;
        let mut status = find_document::read(&source, surroundings.user)?;
        if common.json {
            let name = |user| surroundings.users.name(user).map(std::sync::Arc::from);
            status.jobs_mut().for_each(|job| job.user_name = name(job.user));
        }
        if let Some(warning) = find_document::warning(&status, surroundings.now) {
            output.stderr += &format!("svipu: warning: {warning}\n");
        }
        match command {
            Command::User { name: Some(name) } => (common.user, common.me) = (Some(name.clone()), false),
            Command::User { name: None } | Command::Why { id: None } => common.me = common.user.is_none(),
            // These name one job or partition.
            Command::Why { .. } | Command::Job { .. } | Command::Partition { .. } => {
                (common.user, common.me) = (None, false);
            }
            _ => {}
        }
        let view = View::new(&status, &source, &common, surroundings)?;
        let page = show(&view)?;
        if let Some(warning) = view.hidden() {
            output.stderr += &format!("svipu: {warning}\n");
        }
        Ok(page)
    };
    let steer =
        |request: &Request| steering::carry_out(request, arguments.common.socket.as_deref(), surroundings);
    match command {
        Command::Status => page(&status::show),
        Command::Queue => page(&job_queue::show),
        Command::Partitions => page(&partition::list),
        Command::Map { svg: Some(_), .. } => page(&|view| Ok(map::picture(view))),
        Command::Map { all, .. } => page(&|view| map::show(view, *all)),
        Command::Plan { hours, svg: Some(_), .. } => page(&|view| Ok(plan::picture(view, *hours))),
        Command::Plan { hours, all, .. } => page(&|view| plan::show(view, *hours, *all)),
        Command::Top { .. } => Err(Failure::Live),
        Command::When { ipus, time } => page(&|view| when::show(view, *ipus, *time)),
        Command::Why { id } => page(&|view| why::show(view, id.as_deref())),
        Command::Job { id } => page(&|view| job::show(view, id)),
        Command::Partition { command: Some(command), .. } => {
            free::run(command, arguments.common.socket.as_deref(), surroundings)
        }
        Command::Partition { id, .. } => {
            page(&|view| partition::show(view, id.as_deref().unwrap_or_default()))
        }
        Command::Steer(command) => steer(&steering::request(command, surroundings)),
        Command::Ipu { wanted } => page(&|view| ipu::show(view, wanted)),
        Command::User { name } => page(&|view| user::show(view, name.as_deref())),
        Command::Limits { name } => {
            let common = Configuration::read(surroundings)?.complete(&arguments.common, command);
            limits::show(name.as_deref(), &common, surroundings, output)
        }
        Command::Env { job, gcd, container } => match container.runtime() {
            None => page(&|view| environment::show(view, job.as_deref(), *gcd)),
            Some(runtime) if job.is_none() && container_options::is_in_step(surroundings) => {
                container_options::of_this_step(runtime, arguments.common.json, surroundings)
            }
            Some(runtime) => page(&|view| {
                let variables = environment::variables(view, job.as_deref(), *gcd)?;
                container_options::show(runtime, &variables, view.common.json, surroundings)
            }),
        },
        Command::Hostfile(options) => hostfile::show(options, surroundings),
        Command::Doctor { slurm_conf } => {
            doctor::run(slurm_conf.as_deref(), &arguments.common, surroundings, output)
        }
        Command::Completions { shell } => Ok(completions_and_man_pages::completion(*shell)),
        Command::Man { directory } => completions_and_man_pages::pages(directory),
        Command::Conf(command) => conf::run(command, &arguments.common, surroundings, output),
        Command::Migrate { slurm_conf, pool } => {
            migrate::show(slurm_conf.as_deref(), *pool, &arguments.common, surroundings, output)
        }
        Command::Exporter { listen } => Err(exporter::serve(*listen, place()?.1)),
    }
}
