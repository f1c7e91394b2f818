//! The control groups of nodes.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use testbed::wait_until;

/// The time that a killed process may take to leave its group.
const LIMIT: Duration = Duration::from_secs(60);

/// The hierarchies of version 1, which a kubelet needs. Empty where this machine has version 2 only.
pub(crate) fn hierarchies() -> Vec<PathBuf> {
    mounted(&["cgroup"])
}

fn mounted(types: &[&str]) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let of_type = mounts.filter(|fields| fields.get(2).is_some_and(|found| types.contains(found)));
    of_type.map(|fields| fields[1].into()).collect()
}

/// Makes the group of a node. Its name begins with that of the cluster.
pub(crate) fn make(name: &str) -> Result<()> {
    for hierarchy in hierarchies() {
        let group = hierarchy.join(name);
        fs::create_dir(&group)
            .with_context(|| format!("cannot make the control group {}", group.display()))?;
        // No process may enter a group of cpuset before it has processors and memory.
        for file in ["cpuset.cpus", "cpuset.mems"].iter().filter(|file| group.join(file).exists()) {
            fs::write(group.join(file), fs::read(hierarchy.join(file))?)?;
        }
    }
    Ok(())
}

/// Removes all groups whose name begins with that of the cluster, and waits for the end of the killed processes in them.
pub(crate) fn remove(cluster: &str) -> Result<()> {
    wait_until(&format!("the control groups of {cluster} to be empty"), LIMIT, || {
        let mut is_gone = true;
        // runc makes groups of version 2 beside them, if this machine has both.
        for hierarchy in mounted(&["cgroup", "cgroup2"]) {
            for group in fs::read_dir(hierarchy)?.flatten() {
                if group.file_name().to_string_lossy().starts_with(cluster) {
                    is_gone &= remove_tree(&group.path()).is_ok();
                }
            }
        }
        Ok(is_gone)
    })
}

fn remove_tree(group: &Path) -> io::Result<()> {
    for entry in fs::read_dir(group)?.flatten() {
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?;
        }
    }
    fs::remove_dir(group)
}
