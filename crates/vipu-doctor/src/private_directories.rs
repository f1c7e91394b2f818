//! The directories that Slurm makes private to each job: job_container/tmpfs, from 25.11 on namespace/tmpfs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use slurm_conf::HostList;
use vipu_types::Delivery;

use crate::finding::Finding;
use crate::host::{Host, Unseen, if_there, read_text};
use crate::ipuof_directories::Directory;
use crate::models::{ModelFile, settings};
use crate::plugstack::Plugstack;
use crate::slurm_conf::Slurm;

const FILE: &str = "job_container.conf";

/// Those of a file that does not name them.
const USUAL: &str = "/tmp,/dev/shm";

/// The private directories of this host, on another host than a node those of the nodes with IPUs.
pub(crate) fn read(host: &Host<'_>, slurm: &Slurm, unseen: &mut Unseen) -> Vec<PathBuf> {
    let types = ["JobContainerType", "NamespaceType"];
    if !types.iter().any(|key| slurm.value(key).is_some_and(|kind| kind.ends_with("/tmpfs"))) {
        return Vec::new();
    }
    let path = slurm.folder().join(FILE);
    let text = if_there(&path, read_text(&host.at(&path)), unseen).unwrap_or_default();
    let names = |text: &str| {
        HostList::parse(text).map(|list| list.names().collect::<BTreeSet<_>>()).unwrap_or_default()
    };
    let nodes = match slurm.is_node {
        true => BTreeSet::from([host.short_name().to_owned()]),
        false => slurm.nodes.iter().flat_map(|offering| names(&offering.nodes)).collect(),
    };
    of_text(&text, &|listed| !names(listed).is_disjoint(&nodes))
}

/// The directories of the nodes for which `is_about` holds.
fn of_text(text: &str, is_about: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    // A line with BasePath is about nodes, and the others are about all of them.
    let (mut for_all, mut of_lines) = (USUAL.to_owned(), Vec::new());
    for line in text.lines() {
        let words = line.split('#').next().unwrap_or_default().split_whitespace();
        let pairs = words.filter_map(|word| word.split_once('='));
        let pairs: BTreeMap<_, _> =
            pairs.map(|(key, value)| (key.to_ascii_lowercase(), value.trim_matches('"'))).collect();
        let is_here = pairs.get("nodename").is_none_or(|names| is_about(names));
        match (pairs.get("basepath"), pairs.get("dirs")) {
            (Some(base), dirs) if is_here && !base.eq_ignore_ascii_case("none") => {
                of_lines.push(dirs.map(|dirs| (*dirs).to_owned()));
            }
            (None, Some(dirs)) => (*dirs).clone_into(&mut for_all),
            _ => {}
        }
    }
    let lists = of_lines.into_iter().map(|dirs| dirs.unwrap_or_else(|| for_all.clone()));
    let directories =
        |list: String| list.split(',').filter(|word| !word.is_empty()).map(PathBuf::from).collect::<Vec<_>>();
    lists.flat_map(directories).collect()
}

/// Tasks see the files of their IPUs.
pub(crate) fn hide_no_file(
    private: &[PathBuf],
    slurm: &Slurm,
    plugstack: &Plugstack,
    models: &[ModelFile],
    directories: &[Directory],
) -> Vec<Finding> {
    let has = |delivery| settings(models).any(|(_, own)| own.delivery == delivery);
    let (fetches, reads) = (has(Delivery::Node), settings(models).next().is_none() || has(Delivery::File));
    let run_dir = fetches.then(|| Path::new(plugstack.argument("run_dir").unwrap_or(Delivery::RUN_DIR)));
    let of_files = directories.iter().filter(|_| reads).map(|it| (it.path.as_path(), "IpuofDir"));
    let of_files = of_files.chain(run_dir.map(|path| (path, "run_dir= of plugstack.conf")));
    let hidden = of_files.filter(|_| slurm.is_controller_host || slurm.has_ipus).filter_map(|(path, key)| {
        let cover = private.iter().find(|cover| path.starts_with(cover))?;
        let what = format!(
            "tasks have a {} of their own ({FILE}), so that they do not find the files of their IPUs",
            cover.display()
        );
        let fix = format!("move it by {key}, or take {} out of Dirs", cover.display());
        Some(Finding::error(path.display().to_string(), what, fix))
    });
    hidden.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_doctor_private_directories_are_those_of_the_node() {
        let told = |text: &str, node: Option<&str>| {
            let is_about = |names: &str| {
                let names: Vec<_> = HostList::parse(names).unwrap().names().collect();
                node.is_none_or(|node| names.iter().any(|name| name == node))
            };
            let found = of_text(text, &is_about).into_iter().map(|path| path.display().to_string());
            found.collect::<Vec<_>>().join(",")
        };
        assert_eq!(told("# no BasePath\nAutoBasePath=true\n", None), "");
        assert_eq!(told("BasePath=None\n", None), "");
        assert_eq!(told("BasePath=/jc Dirs=/tmp,\n", None), "/tmp");
        assert_eq!(told("AutoBasePath=true\nBasePath=/var/jc # here\n", None), "/tmp,/dev/shm");
        assert_eq!(told("BasePath=/jc Dirs=\"/tmp,/run\"\r\n", None), "/tmp,/run");
        let two = "Dirs=/scratch\nNodeName=n[1-2] BasePath=/jc dirs=/run\nNodeName=n3 basepath=/jc\nNodeName=n4 BasePath=none\n";
        let nodes = [Some("n2"), Some("n3"), Some("n4"), Some("n5"), None];
        assert_eq!(nodes.map(|node| told(two, node)), ["/run", "/scratch", "", "", "/run,/scratch"]);
    }
}
