//! The changes to config.json of an OCI container (OCI Runtime Specification).

use serde_json::{Map, Value, json};

use crate::ipus::{Ipus, RDMA};

/// A part of the configuration that no OCI container has like that.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The name of the part, from the outside in.
    pub(crate) member: &'static str,
    /// The fault.
    pub(crate) why: &'static str,
}

/// Gives the container the IPUs.
pub(crate) fn give(config: &mut Value, ipus: &Ipus) -> Result<(), Wrong> {
    let config = config.as_object_mut().ok_or(Wrong { member: "it", why: "no object" })?;
    set_variables(config, ipus)?;
    keep_memory_limit(config)?;
    let is_rootless = share_network(config)?;
    add_mounts(config, ipus, is_rootless)?;
    allow_devices(config, ipus)
}

/// The object under this name, made if it is missing.
fn object<'a>(
    of: &'a mut Map<String, Value>,
    name: &str,
    member: &'static str,
) -> Result<&'a mut Map<String, Value>, Wrong> {
    let value = of.entry(name).or_insert_with(|| json!({}));
    value.as_object_mut().ok_or(Wrong { member, why: "no object" })
}

/// The list under this name, made if it is missing.
fn list<'a>(
    of: &'a mut Map<String, Value>,
    name: &str,
    member: &'static str,
) -> Result<&'a mut Vec<Value>, Wrong> {
    let value = of.entry(name).or_insert_with(|| json!([]));
    value.as_array_mut().ok_or(Wrong { member, why: "no list" })
}

/// The variables of the step replace those that the container has, and any that lead to other IPUs.
fn set_variables(config: &mut Map<String, Value>, ipus: &Ipus) -> Result<(), Wrong> {
    let process = object(config, "process", "process")?;
    let variables = list(process, "env", "process.env")?;
    let name = |variable: &Value| Some(variable.as_str()?.split_once('=')?.0.to_owned());
    variables.retain(|variable| !name(variable).is_some_and(|name| ipuof::variables::is_for_programs(&name)));
    variables.extend(ipus.variables.iter().map(|(name, value)| format!("{name}={value}").into()));
    Ok(())
}

/// RDMA needs locked memory. Without a limit of its own, the container has that of the step.
fn keep_memory_limit(config: &mut Map<String, Value>) -> Result<(), Wrong> {
    let limits = list(object(config, "process", "process")?, "rlimits", "process.rlimits")?;
    limits.retain(|limit| limit["type"] != "RLIMIT_MEMLOCK");
    Ok(())
}

/// The IPUs are in the network of the node. Returns whether the container has a user namespace.
fn share_network(config: &mut Map<String, Value>) -> Result<bool, Wrong> {
    let namespaces = list(object(config, "linux", "linux")?, "namespaces", "linux.namespaces")?;
    namespaces.retain(|it| it["type"] != "network");
    Ok(namespaces.iter().any(|it| it["type"] == "user"))
}

fn add_mounts(config: &mut Map<String, Value>, ipus: &Ipus, is_rootless: bool) -> Result<(), Wrong> {
    let mounts = list(config, "mounts", "mounts")?;
    // The kernel refuses a new sysfs to those who do not own the network, and takes that of the node.
    for mount in mounts.iter_mut().filter(|mount| is_rootless && mount["type"] == "sysfs") {
        *mount = bind("/sys", &["rbind", "nosuid", "noexec", "nodev", "ro"]);
    }
    let directory = ipus.directory.iter().filter_map(|directory| directory.to_str());
    // The whole directory: a file that is written anew is another file under its name.
    let directory = directory.map(|directory| bind(directory, &["bind", "nosuid", "nodev", "ro"]));
    let devices = (!ipus.rdma.is_empty()).then(|| bind(RDMA, &["rbind", "nosuid", "noexec"]));
    for mount in directory.chain(devices) {
        mounts.retain(|other| other["destination"] != mount["destination"]);
        mounts.push(mount);
    }
    Ok(())
}

/// A mount of a directory of the node under its own path.
fn bind(path: &str, options: &[&str]) -> Value {
    json!({"destination": path, "type": "none", "source": path, "options": options})
}

/// Lets the container open the RDMA devices, which its control group would deny.
fn allow_devices(config: &mut Map<String, Value>, ipus: &Ipus) -> Result<(), Wrong> {
    if ipus.rdma.is_empty() {
        return Ok(());
    }
    let linux = object(config, "linux", "linux")?;
    let rules = list(object(linux, "resources", "linux.resources")?, "devices", "linux.resources.devices")?;
    for (major, minor) in &ipus.rdma {
        let rule = json!({"allow": true, "type": "c", "major": major, "minor": minor, "access": "rw"});
        rules.retain(|other| *other != rule);
        rules.push(rule);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipus() -> Ipus {
        let file = ("IPUOF_CONFIG_PATH".to_owned(), "/shared/ipuof/slurm_1.conf".to_owned());
        let size = ("SLURM_VIPU_IPUS".to_owned(), "4".to_owned());
        Ipus {
            variables: [file, size].into(),
            directory: Some("/shared/ipuof".into()),
            rdma: vec![(231, 192)],
        }
    }

    /// A configuration as `runc spec --rootless` makes it, as far as the IPUs are concerned.
    fn spec() -> Value {
        json!({
            "process": {
                "args": ["sh"],
                "env": ["PATH=/bin", "IPUOF_VIPU_API_HOST=other"],
                "rlimits": [
                    {"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024},
                    {"type": "RLIMIT_MEMLOCK", "hard": 65536, "soft": 65536},
                ],
            },
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["ro"]},
            ],
            "linux": {
                "namespaces": [{"type": "pid"}, {"type": "network"}, {"type": "user"}],
                "resources": {"devices": [{"allow": false, "access": "rwm"}]},
            },
        })
    }

    #[test]
    fn user_container_gets_variables_file_devices_and_limits() {
        let mut config = spec();
        give(&mut config, &ipus()).unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&config).unwrap());
        let mut again = config.clone();
        give(&mut again, &ipus()).unwrap();
        assert_eq!(again, config, "a second time changes nothing");
    }

    #[test]
    fn user_container_with_a_control_group_keeps_its_own_sysfs() {
        let mut config = spec();
        config["linux"]["namespaces"] = json!([{"type": "pid"}]);
        let none = Ipus { variables: [].into(), directory: None, rdma: Vec::new() };
        give(&mut config, &none).unwrap();
        assert_eq!(config["mounts"], spec()["mounts"]);
    }
}
