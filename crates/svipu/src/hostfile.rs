//! `svipu hostfile`: the nodes of a job, and the network between them, for mpirun and poprun.
//!
//! Slurm tells both to the programs of the job, so that slurmctld gets no call.

use slurm_conf::HostList;

use crate::arguments::options::Hostfile;
use crate::error::Failure;
use crate::network_interface::Interface;
use crate::safe;
use crate::surroundings::Surroundings;
use crate::svipu_toml::Configuration;

/// The greatest length of the name of a host.
const LONGEST_NAME: usize = 255;

const NODES: &str = "SLURM_JOB_NODELIST";
const TASKS: &str = "SLURM_TASKS_PER_NODE";
const TASKS_ON_EACH: &str = "SLURM_NTASKS_PER_NODE";

/// The host file in the form of Open MPI, or the options about its network.
pub(crate) fn show(options: &Hostfile, surroundings: &Surroundings) -> Result<String, Failure> {
    let nodes = nodes(options.job.as_deref(), surroundings)?;
    if options.mca {
        return network(&nodes, options.interface.as_ref(), surroundings);
    }
    let slots = slots(nodes.len(), options.slots, surroundings)?;
    Ok(nodes.iter().zip(slots).map(|(node, slots)| format!("{node} slots={slots}\n")).collect())
}

/// The nodes of the job in which svipu runs.
fn nodes(job: Option<&str>, surroundings: &Surroundings) -> Result<Vec<String>, Failure> {
    let variable = |name| surroundings.variable(name).map(|value| value.to_string_lossy());
    let script = job.map(|job| format!("the batch script of job {}", safe::cut(job, 40)));
    let outside = || Failure::OutsideJob(script.clone().unwrap_or_else(|| "a batch script".to_owned()));
    let (id, list) = variable("SLURM_JOB_ID").zip(variable(NODES)).ok_or_else(outside)?;
    let task = variable("SLURM_ARRAY_JOB_ID").zip(variable("SLURM_ARRAY_TASK_ID"));
    let names = [Some(id.into_owned()), task.map(|(array, task)| format!("{array}_{task}"))];
    if job.is_some_and(|job| !names.iter().flatten().any(|name| name == job)) {
        return Err(outside());
    }
    let wrong = |why: String| Failure::JobVariable(NODES, why);
    let nodes: Vec<_> = HostList::parse(&list).map_err(|why| wrong(why.to_string()))?.names().collect();
    match nodes.iter().find(|node| !is_host(node)) {
        Some(node) => Err(wrong(format!("'{}' is no name of a host", safe::cut(node, 80)))),
        None if nodes.is_empty() => Err(wrong("it names no host".to_owned())),
        None => Ok(nodes),
    }
}

fn is_host(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    name.len() <= LONGEST_NAME && !name.starts_with('-') && name.bytes().all(is_known)
}

/// The slots of each node.
fn slots(nodes: usize, given: Option<u32>, surroundings: &Surroundings) -> Result<Vec<u32>, Failure> {
    let variable = |name| Some(surroundings.variable(name)?.to_string_lossy());
    let on_each = || variable(TASKS_ON_EACH)?.parse().ok().filter(|tasks| *tasks > 0);
    let tasks = variable(TASKS).unwrap_or_default();
    if let Some(slots) = given {
        return Ok(vec![slots; nodes]);
    }
    // In a step that uses a part of the nodes, the variable is about that part.
    let of_step = || {
        Failure::JobVariable(
            TASKS,
            format!("'{tasks}' does not tell the tasks of {nodes} nodes: give --slots"),
        )
    };
    let known = tasks_of_nodes(&tasks, nodes);
    known.or_else(|| Some(vec![on_each()?; nodes])).ok_or_else(of_step)
}

/// The tasks of each node, by a list such as `2(x3),1`. None if it is not about so many nodes.
fn tasks_of_nodes(list: &str, nodes: usize) -> Option<Vec<u32>> {
    let mut tasks = Vec::new();
    for part in list.split(',') {
        let (number, times) = match part.split_once("(x") {
            Some((number, times)) => (number, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1),
        };
        let number: u32 = number.parse().ok().filter(|number| *number > 0)?;
        if times > nodes - tasks.len() {
            return None;
        }
        tasks.extend(std::iter::repeat_n(number, times));
    }
    (tasks.len() == nodes).then_some(tasks)
}

/// The options of Open MPI about the network between the nodes. One node needs none.
fn network(
    nodes: &[String],
    given: Option<&Interface>,
    surroundings: &Surroundings,
) -> Result<String, Failure> {
    let own = surroundings.variable("SLURMD_NODENAME").map(|name| name.to_string_lossy());
    let own = own.unwrap_or_else(|| surroundings.host.as_str().into());
    let Some(other) = nodes.iter().find(|node| **node != own) else { return Ok(String::new()) };
    let configured = || Ok::<_, Failure>(Configuration::read(surroundings)?.interface);
    let chosen = given.cloned().map_or_else(configured, |given| Ok(Some(given)))?;
    let interface = chosen.map_or_else(|| Interface::towards(other).map_err(Failure::NoInterface), Ok)?;
    let name = interface.as_str();
    Ok(format!("--mca oob_tcp_if_include {name} --mca btl_tcp_if_include {name}\n"))
}
