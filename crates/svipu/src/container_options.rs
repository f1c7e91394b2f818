//! `svipu env --docker` and others: the options with which a container gets the IPUs of a job.
//!
//! The options for Docker are those that Graphcore's documents demand: locked memory without limit, the host's
//! network and shared memory, IPC_LOCK and the RDMA devices. The other runtimes give a container the limits, and
//! Apptainer and Charliecloud the devices and the network, of the shell that starts it.

use std::path::Path;

use ipuof::variables::{API_PARTITION_ID, CONFIG_PATH, is_for_programs};

use crate::arguments::options::ContainerRuntime;
use crate::error::Failure;
use crate::surroundings::Surroundings;

/// The directory of the RDMA devices.
const RDMA: &str = "/dev/infiniband";

/// A directory that images for Charliecloud have. An image that cannot be written takes mounts only where it has a
/// directory.
const CHARLIECLOUD_MOUNT: &str = "/mnt/9";

/// Whether svipu runs in a job step with IPUs.
pub(crate) fn is_in_step(surroundings: &Surroundings) -> bool {
    [CONFIG_PATH, API_PARTITION_ID].iter().any(|name| surroundings.variable(name).is_some())
}

/// The options for the step in which svipu runs. Its own variables know also what the document does not, such as
/// the directory of a fetched file.
pub(crate) fn of_this_step(
    runtime: ContainerRuntime,
    json: bool,
    surroundings: &Surroundings,
) -> Result<String, Failure> {
    let variables = surroundings.variables.iter().filter(|(name, _)| is_for_programs(name));
    let variables: Vec<_> =
        variables.filter_map(|(name, value)| Some((name.as_str(), value.to_str()?.to_owned()))).collect();
    show(runtime, &variables, json, surroundings)
}

/// The page: the options in one line, or a list of them as JSON.
pub(crate) fn show(
    runtime: ContainerRuntime,
    variables: &[(&str, String)],
    json: bool,
    surroundings: &Surroundings,
) -> Result<String, Failure> {
    let words = words(runtime, variables, surroundings)?;
    if json {
        return Ok(serde_json::to_string_pretty(&words)? + "\n");
    }
    Ok(words.join(" ") + "\n")
}

/// The options, each one word of a shell.
fn words(
    runtime: ContainerRuntime,
    variables: &[(&str, String)],
    surroundings: &Surroundings,
) -> Result<Vec<String>, Failure> {
    let file = variables.iter().find(|(name, _)| *name == CONFIG_PATH).map(|(_, value)| Path::new(value));
    let mut words = fixed(runtime, surroundings);
    let directory = file.and_then(Path::parent).map(|it| it.display().to_string());
    if let Some(directory) = &directory {
        let is_mountable = is_plain(directory) && !directory.contains([':', ',']);
        if !is_mountable {
            return Err(Failure::NoContainer(directory.clone()));
        }
        words.push(mount(runtime, directory));
    }
    for (name, value) in variables {
        let moved = directory.as_ref().filter(|_| *name == CONFIG_PATH).map(|directory| match runtime {
            ContainerRuntime::Charliecloud => value.replacen(directory.as_str(), CHARLIECLOUD_MOUNT, 1),
            _ => value.clone(),
        });
        words.extend(variable(runtime, name, moved.as_ref().unwrap_or(value), surroundings)?);
    }
    Ok(words)
}

/// The options that do not depend on the job.
fn fixed(runtime: ContainerRuntime, surroundings: &Surroundings) -> Vec<String> {
    let of_engine = ["--network=host", "--ipc=host", "--cap-add=IPC_LOCK"];
    let has_rdma = surroundings.root.join(RDMA.trim_start_matches('/')).is_dir();
    let device = has_rdma.then(|| format!("--device={RDMA}"));
    let of_engine = of_engine.map(str::to_owned).into_iter().chain(device);
    match runtime {
        // Docker's daemon starts the container, with limits of its own.
        ContainerRuntime::Docker => {
            ["--ulimit=memlock=-1:-1".to_owned()].into_iter().chain(of_engine).collect()
        }
        ContainerRuntime::Podman => of_engine.collect(),
        ContainerRuntime::Apptainer | ContainerRuntime::Charliecloud => Vec::new(),
    }
}

/// The whole directory is mounted: a file that is written anew is another file under its name.
fn mount(runtime: ContainerRuntime, directory: &str) -> String {
    match runtime {
        ContainerRuntime::Docker | ContainerRuntime::Podman => format!("--volume={directory}:{directory}:ro"),
        ContainerRuntime::Apptainer => format!("--bind={directory}:{directory}:ro"),
        ContainerRuntime::Charliecloud => format!("--bind={directory}:{CHARLIECLOUD_MOUNT}"),
    }
}

/// The option for a variable. A value that is no word of a shell can only come from the environment.
fn variable(
    runtime: ContainerRuntime,
    name: &str,
    value: &str,
    surroundings: &Surroundings,
) -> Result<Option<String>, Failure> {
    let option = match runtime {
        ContainerRuntime::Charliecloud => "--set-env",
        _ => "--env",
    };
    // Apptainer takes a list of variables in one option.
    let is_word = is_plain(value) && !(runtime == ContainerRuntime::Apptainer && value.contains(','));
    let is_inherited = || surroundings.variable(name).is_some_and(|own| own == value);
    match runtime {
        _ if is_word => Ok(Some(format!("{option}={name}={value}"))),
        _ if !is_inherited() => Err(Failure::NoContainer(value.to_owned())),
        ContainerRuntime::Docker | ContainerRuntime::Podman => Ok(Some(format!("{option}={name}"))),
        ContainerRuntime::Apptainer | ContainerRuntime::Charliecloud => Ok(None),
    }
}

/// Whether a shell takes the text for one word, and changes nothing in it.
pub(crate) fn is_plain(text: &str) -> bool {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-:@%+=,".contains(character);
    !text.is_empty() && text.chars().all(is_plain)
}
