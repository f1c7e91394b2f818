//! slurm.conf of this host, and what it says the host is.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use slurm_conf::{HostList, Line, Named, Place, SlurmConf};

use crate::finding::Finding;
use crate::host::Host;

/// The places of slurm.conf, if nobody names one. The last two are of nodes without a file of their own.
const USUAL: [&str; 5] = [
    "/etc/slurm/slurm.conf",
    "/etc/slurm-llnl/slurm.conf",
    "/usr/local/etc/slurm.conf",
    "/run/slurm/conf/slurm.conf",
    "/var/spool/slurmd/conf-cache/slurm.conf",
];

/// slurm.conf.
pub(crate) struct Slurm {
    /// Its path.
    pub(crate) path: PathBuf,
    /// Its lines, and those of the files that it includes.
    pub(crate) conf: SlurmConf,
    /// The nodes that have a `Gres=vipu...`, a line each.
    pub(crate) nodes: Vec<Offering>,
    /// Whether slurmctld runs on this host.
    pub(crate) is_controller_host: bool,
    /// Whether this host is a node.
    pub(crate) is_node: bool,
    /// Whether this host is a node with IPUs.
    pub(crate) has_ipus: bool,
    /// The numeric id of SlurmUser, if the host knows the name.
    pub(crate) user: Option<u32>,
}

/// A line of nodes with IPUs.
pub(crate) struct Offering {
    /// The names, as in the line.
    pub(crate) nodes: String,
    /// The line that has the `Gres=`.
    pub(crate) place: String,
    /// The vipu elements of `Gres=`.
    pub(crate) offers: Vec<Offer>,
}

/// An element such as `vipu:pod64:no_consume:64`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The element.
    pub(crate) text: String,
    /// Whether it has the word `no_consume`.
    pub(crate) is_no_consume: bool,
    /// The model, if it names one.
    pub(crate) model: Option<String>,
    /// The number of IPUs, if there is one.
    pub(crate) count: Option<String>,
}

impl Slurm {
    pub(crate) fn read(host: &Host<'_>) -> Result<Self, Finding> {
        let path = host.slurm_conf.clone();
        let path = path.or_else(|| USUAL.map(PathBuf::from).into_iter().find(|path| host.at(path).exists()));
        let Some(path) = path else {
            let fix = "set SLURM_CONF, or write svipu doctor --slurm-conf FILE; slurmd without a file of its own keeps \
                       it as conf-cache/slurm.conf in SlurmdSpoolDir";
            return Err(Finding::error("slurm.conf", "it is in no usual place", fix));
        };
        let conf = SlurmConf::read(&path, &mut &*host).map_err(|why| {
            let fix = match why.kind() {
                ErrorKind::NotFound => "set SLURM_CONF or --slurm-conf to the file that slurmctld reads",
                ErrorKind::PermissionDenied => "run svipu doctor as root or SlurmUser",
                _ => "mend this, and run svipu doctor again",
            };
            Finding::error(path.display().to_string(), format!("cannot read it: {why}"), fix)
        })?;
        let own = conf.nodes();
        let own = own.iter().filter(|node| names_host(node, host));
        let has_ipus = own.clone().any(|node| offering(node).is_some());
        let is_controller_host = ["SlurmctldHost", "ControlMachine", "BackupController"]
            .iter()
            .flat_map(|key| conf.all(key))
            .any(|line| is_host(line, host));
        let user = conf.value("SlurmUser").unwrap_or("root");
        let user = user.parse().ok().or_else(|| (host.user_id)(user));
        Ok(Self {
            is_controller_host,
            is_node: own.count() > 0,
            has_ipus,
            nodes: conf.nodes().iter().filter_map(offering).collect(),
            user,
            path,
            conf,
        })
    }

    /// The folder of slurm.conf.
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The value of a key.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.conf.value(key)
    }

    /// Whether the list of a key has this word.
    pub(crate) fn lists(&self, key: &str, word: &str) -> bool {
        let words = self.value(key).unwrap_or_default().split(',').map(str::trim);
        words.into_iter().any(|listed| listed.eq_ignore_ascii_case(word))
    }

    /// The line of a key as a finding names it. The file alone if the key is not given.
    pub(crate) fn place(&self, key: &str) -> String {
        self.conf.line(key).map_or_else(|| "slurm.conf".to_owned(), |line| short(&line.place))
    }

    /// The directory of slurmctld's state.
    pub(crate) fn state_save_location(&self) -> PathBuf {
        self.value("StateSaveLocation").unwrap_or("/var/spool").into()
    }

    /// Whether slurmctld has sent this slurm.conf, so that a change belongs on its host.
    pub(crate) fn is_sent(&self) -> bool {
        self.folder().ends_with("conf-cache") || self.folder() == Path::new("/run/slurm/conf")
    }

    /// Whether nodes get their configuration from slurmctld.
    pub(crate) fn is_configless(&self) -> bool {
        self.lists("SlurmctldParameters", "enable_configless")
    }

    /// The names of the Slurm partitions in small letters.
    pub(crate) fn partitions(&self) -> BTreeSet<String> {
        self.conf.partitions().iter().map(|partition| partition.name.to_ascii_lowercase()).collect()
    }

    /// What this host is.
    pub(crate) fn roles(&self) -> Vec<&'static str> {
        let mut roles = Vec::new();
        roles.extend(self.is_controller_host.then_some("slurmctld host"));
        roles.extend(match (self.is_node, self.has_ipus) {
            (true, true) => Some("node with IPUs"),
            (true, false) => Some("node"),
            (false, _) => (!self.is_controller_host).then_some("login host"),
        });
        roles
    }
}

/// The place with the bare name of its file.
pub(crate) fn short(place: &Place) -> String {
    let name = place.file.file_name().unwrap_or_default();
    format!("{}:{}", name.to_string_lossy(), place.line)
}

/// Whether a line such as `SlurmctldHost=ctl(10.0.0.1)` is about this host.
fn is_host(line: &Line, host: &Host<'_>) -> bool {
    is_name(line.pair.value.split('(').next().unwrap_or_default().trim(), host)
}

fn names_host(node: &Named, host: &Host<'_>) -> bool {
    let named = node.get("NodeHostname").map_or(node.name.as_str(), |hostname| &hostname.value);
    let Ok(list) = HostList::parse(named) else { return false };
    list.names().any(|name| is_name(&name, host))
}

/// Whether a name is that of this host. A loopback name or address always is.
fn is_name(name: &str, host: &Host<'_>) -> bool {
    let is_loopback = || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    name == host.name || name == host.short_name() || name.eq_ignore_ascii_case("localhost") || is_loopback()
}

fn offering(node: &Named) -> Option<Offering> {
    let gres = node.get("Gres")?;
    let elements = gres.value.split(',').map(str::trim);
    let offers: Vec<_> = elements.filter_map(offer).collect();
    (!offers.is_empty()).then(|| Offering { nodes: node.name.clone(), place: short(&gres.place), offers })
}

fn offer(element: &str) -> Option<Offer> {
    let rest = element.strip_prefix("vipu")?;
    let rest = rest.strip_prefix(':').or_else(|| rest.is_empty().then_some(""))?;
    let is_word = |word: &&str| word.eq_ignore_ascii_case("no_consume");
    let words = rest.split(':').filter(|word| !word.is_empty());
    let others: Vec<_> = words.clone().filter(|word| !is_word(word)).collect();
    let is_number = |word: &&&str| word.starts_with(|c: char| c.is_ascii_digit());
    let count = others.last().filter(is_number).map(|count| (*count).to_owned());
    let models = &others[..others.len() - usize::from(count.is_some())];
    Some(Offer {
        text: element.to_owned(),
        is_no_consume: words.clone().any(|word| is_word(&word)),
        model: (!models.is_empty()).then(|| models.join(":")),
        count,
    })
}

/// Slurm takes every line.
pub(crate) fn lines(slurm: &Slurm) -> Vec<Finding> {
    let finding = |problem: &slurm_conf::Problem| {
        Finding::error(
            short(&problem.place),
            problem.reason.to_string(),
            "mend the line; slurmctld does not start with it",
        )
    };
    slurm.conf.problems.iter().map(finding).collect()
}

/// Each node is in one line.
pub(crate) fn nodes(slurm: &Slurm) -> Vec<Finding> {
    let mut first = BTreeMap::new();
    let mut again = |line: Named| {
        let names = HostList::parse(&line.name).ok()?;
        // All names of the line are noted.
        let found: Vec<_> = names
            .names()
            .filter_map(|name| Some((name.clone(), first.insert(name, line.place.clone())?)))
            .collect();
        let (name, place) = found.into_iter().next()?;
        let what = format!("node {name} is also in {}", short(&place));
        let fix = "join the lines of the node; slurmctld does not start with two";
        Some(Finding::error(short(&line.place), what, fix))
    };
    slurm.conf.nodes().into_iter().filter_map(&mut again).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_doctor_knows_this_host_by_a_loopback_name() {
        let folder = tempfile::tempdir().unwrap();
        let conf = "SlurmctldHost=localhost(127.0.0.1)\nNodeName=n[1-2] NodeHostname=localhost Gres=vipu:pod64:no_consume:64\n";
        std::fs::write(folder.path().join("slurm.conf"), conf).unwrap();
        let host = |conf: &str| Host {
            root: folder.path().to_owned(),
            name: "build7.example".into(),
            now: 0,
            slurm_conf: Some(conf.into()),
            status: None,
            sacctmgr: "/nonexistent".into(),
            user_id: Box::new(|_| None),
            in_group: |_, _| None,
            groups: |_| Vec::new(),
        };
        let roles = |conf| Slurm::read(&host(conf)).map_err(|_| ()).unwrap().roles();
        assert_eq!(roles("/slurm.conf"), ["slurmctld host", "node with IPUs"]);
        std::fs::write(folder.path().join("old.conf"), "ControlMachine=a\nBackupController=build7\n")
            .unwrap();
        assert_eq!(roles("/old.conf"), ["slurmctld host"]);
        let is_this =
            ["127.0.0.1", "::1", "build7", "localhost4", "10.0.0.1"].map(|name| is_name(name, &host("")));
        assert_eq!(is_this, [true, true, true, false, false]);
    }
}
