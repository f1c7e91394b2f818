//! The reader of one model's settings in the text of a file, and the list of its keys.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use vipu_types::{
    Access, ControllerName, Delivery, HostMap, PartitionId, Pool, Tls, TlsIdentity, WeeklyTimes, Words, words,
};

use crate::choice::{Mode, Placement};
use crate::error::Broken;
use crate::keys::{KEYS, Key, Preset, Settings};
use crate::nodes::nodes;
use crate::problem::{Problem, Reason, Spot};
use crate::syntax::{Piece, parse};
use crate::value::{self, HostFile, Value};

impl Settings {
    /// Reads the text of a file. `path` appears only in errors.
    ///
    /// # Errors
    /// All errors in the text, not only the first.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Broken> {
        let (given, mut problems) = Given::sort(text);
        if let Some(other) = given.other_file(&problems) {
            return Err(Broken { path: path.into(), problems: vec![other] });
        }
        let settings = Self::read(&given, &mut problems);
        if given.delivery() == Some(Delivery::File) && !given.has(&Key::IpuofDir) {
            problems.push(missing(&Key::IpuofDir));
        }
        match settings {
            Some(settings) if problems.is_empty() => Ok(settings),
            _ => Err(Broken { path: path.into(), problems: in_order(problems) }),
        }
    }

    /// TLS to the controllers; `None` means cleartext. The files are read when they are needed.
    pub fn tls(&self) -> Option<Tls> {
        let files = self.api_tls_cert.clone().zip(self.api_tls_key.clone());
        Some(Tls {
            ca: self.api_tls_ca.clone()?,
            server_name: self.api_tls_server_name.clone(),
            identity: files.map(|(certificate, key)| TlsIdentity { certificate, key }),
        })
    }

    /// The access to controllers in secure mode; `None` without ApiAccessFile.
    pub fn access(&self) -> Option<Access> {
        Some(Access {
            file: self.api_access_file.clone()?,
            user_id_metadata: self.api_user_id_metadata.clone(),
            access_key_metadata: self.api_access_key_metadata.clone(),
        })
    }
}

/// The words that tell other files. gres.conf has some of slurm.conf, too.
const OF_OTHER_FILES: [(&str, &[&str]); 3] = [
    ("gres.conf", &["Name", "AutoDetect"]),
    ("plugstack.conf", &["required", "optional"]),
    (
        "slurm.conf",
        &["ClusterName", "SlurmctldHost", "ControlMachine", "SelectType", "NodeName", "PartitionName"],
    ),
];

/// The values that a text gives, by the names of their keys.
pub(crate) struct Given<'a> {
    text: &'a str,
    values: HashMap<&'static str, Piece>,
}

impl<'a> Given<'a> {
    /// Sorts the assignments of a text by key. Also returns their errors, except those in values.
    pub(crate) fn sort(text: &'a str) -> (Self, Vec<Problem>) {
        let mut given = Self { text, values: HashMap::new() };
        let mut problems = Vec::new();
        for item in parse(text) {
            if let Err((reason, span)) = item.and_then(|item| given.add(item.key, item.value)) {
                problems.push(given.problem(reason, &span));
            }
        }
        (given, problems)
    }

    fn add(&mut self, key: Piece, value: Piece) -> Result<(), (Reason, Range<usize>)> {
        if let Some(piece) = [&key, &value].into_iter().find(|piece| piece.text.contains('\u{fffd}')) {
            return Err((Reason::NotUtf8(piece.text.clone()), piece.span.clone()));
        }
        let Some(known) = Key::find(&key.text) else {
            let nearest = Key::nearest(&key.text);
            return Err((Reason::UnknownKey { key: key.text, nearest }, key.span));
        };
        if let Some(first) = self.values.get(known.name) {
            let first_line = Spot::of(self.text, &first.span).line;
            return Err((Reason::Duplicate { key: known.name, first_line }, key.span));
        }
        self.values.insert(known.name, value);
        Ok(())
    }

    /// The value of `key`, or its default; `None` if it has no default.
    pub(crate) fn get<T>(&self, key: &Key, read: impl Fn(&str) -> Value<T>) -> Result<Option<T>, Problem> {
        let (text, span) = match (self.values.get(key.name), key.preset) {
            (Some(value), _) => (value.text.as_str(), &value.span),
            (None, Preset::Value(text)) => (text, &(0..0)),
            (None, Preset::Absent(_)) => return Ok(None),
            (None, Preset::Required) => return Err(missing(key)),
        };
        let control = text.chars().any(char::is_control);
        let result = if control { Err("has a control character".into()) } else { read(text) };
        let bad = |valid| Reason::BadValue { key: key.name, value: text.to_owned(), valid };
        result.map(Some).map_err(|valid| self.problem(bad(valid), span))
    }

    /// The problem of a text that is a configuration file of Slurm: it has a word of such a file, and no ApiHost. Beside
    /// ApiHost, the word is an unknown key like others.
    fn other_file(&self, problems: &[Problem]) -> Option<Problem> {
        let words =
            OF_OTHER_FILES.iter().flat_map(|(file, words)| words.iter().map(move |word| (*file, *word)));
        let mut found = words.filter_map(|(file, key)| {
            let is_about = |problem: &&Problem| match &problem.reason {
                Reason::UnknownKey { key: word, .. } | Reason::NoValue { key: word } => {
                    word.eq_ignore_ascii_case(key)
                }
                _ => false,
            };
            let spot = problems.iter().find(is_about)?.spot.clone();
            Some(Problem { reason: Reason::OtherFile { key, file }, spot })
        });
        found.next().filter(|_| !self.has(&Key::ApiHost))
    }

    fn problem(&self, reason: Reason, span: &Range<usize>) -> Problem {
        Problem { reason, spot: Some(Spot::of(self.text, span)) }
    }

    /// The problem of a file without a pool whose model the nodes offer by sizes.
    pub(crate) fn without_pool(&self) -> Problem {
        let spot = self.values.get(Key::Mode.name).map(|value| Spot::of(self.text, &value.span));
        Problem { reason: Reason::SizesWithoutPool, spot }
    }

    /// The problem of a pool whose ids are not possible with the model's name.
    pub(crate) fn with_bad_pool(&self, why: Words) -> Problem {
        let given = self.values.get(Key::Pool.name);
        let value = given.map(|value| value.text.clone()).unwrap_or_default();
        let spot = given.map(|value| Spot::of(self.text, &value.span));
        Problem { reason: Reason::BadValue { key: Key::Pool.name, value, valid: why }, spot }
    }

    /// The text of the value that the text has for `key`, and its line.
    pub(crate) fn written(&self, key: &Key) -> Option<(&str, usize)> {
        let value = self.values.get(key.name)?;
        Some((&value.text, Spot::of(self.text, &value.span).line))
    }

    /// Whether the text has a value for `key`, good or bad.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.values.contains_key(key.name)
    }

    /// Whether the value of `key` is a good name.
    pub(crate) fn names(&self, key: &Key) -> bool {
        matches!(self.get(key, value::name), Ok(Some(_)))
    }

    /// The port of controllers that are listed without one. If ApiPort is wrong, it is any port, with which
    /// their names are still checked.
    pub(crate) fn api_port(&self) -> u16 {
        self.get(&Key::ApiPort, value::port).ok().flatten().unwrap_or(1)
    }

    /// The delivery. None if it is wrong.
    pub(crate) fn delivery(&self) -> Option<Delivery> {
        self.get(&Key::Delivery, value::delivery).ok().flatten()
    }

    /// The controllers. None if ApiHost is wrong.
    pub(crate) fn controllers(&self) -> Option<Vec<ControllerName>> {
        let port = self.api_port();
        self.get(&Key::ApiHost, |text| value::controllers(text, port)).ok().flatten()
    }

    /// The nodes of each controller. They are not compared with the controllers if ApiHost is wrong.
    pub(crate) fn read_nodes(&self, text: &str) -> Value<BTreeMap<ControllerName, String>> {
        let controllers = self.controllers();
        controllers.map_or(Ok(BTreeMap::new()), |all| nodes(text, &all, self.api_port()))
    }

    /// Whether the plugin chooses the IPUs of partitions.
    pub(crate) fn places(&self) -> bool {
        matches!(self.get(&Key::Placement, Placement::read), Ok(Some(Placement::Explicit)))
    }

    /// Fails if one of `others` is not given, because the value means nothing without it.
    pub(crate) fn needs(&self, others: &[Key]) -> Value<()> {
        match others.iter().find(|other| !self.has(other)) {
            Some(other) => Err(words!("means nothing alone: give {} too", other.name)),
            None => Ok(()),
        }
    }
}

/// The mode of a model, and the values that one mode needs.
impl Given<'_> {
    /// The mode of a model. Partitions that stay are on one controller, have their places, and are not named like their jobs.
    pub(crate) fn read_mode(&self, text: &str) -> Value<Mode> {
        let mode = Mode::read(text)?;
        let fault = match mode {
            Mode::Partition | Mode::Whole => None,
            Mode::Host if !self.has(&Key::HostMap) => Some("which IPUs has each host? give HostMap too"),
            Mode::Host if !self.names(&Key::Cluster) => Some("of which V-IPU cluster? give Cluster too"),
            // The controller's user API does not tell which IPUs an allocation has.
            Mode::Host if self.has(&Key::Allocation) => Some("not possible beside Allocation"),
            Mode::Host if self.keeps_idle() => {
                Some("not possible with KeepIdle: the next job has other nodes")
            }
            Mode::Host if self.has(&Key::Nodes) => Some("not possible with Nodes: HostMap names the nodes"),
            Mode::Pool | Mode::Shared if self.keeps_idle() => {
                Some("not possible with KeepIdle: partitions stay in this mode, however long they are idle")
            }
            Mode::Pool if !self.has(&Key::Pool) => Some("which partitions? give Pool too"),
            Mode::Shared if !self.has(&Key::SharedPartition) => {
                Some("which partition? give SharedPartition too")
            }
            Mode::Pool | Mode::Shared | Mode::Host if self.controllers().is_some_and(|all| all.len() > 1) => {
                Some("not possible with several controllers: give each a model of its own")
            }
            Mode::Pool if self.delivery() == Some(Delivery::Node) => {
                Some("not possible with Delivery=node: use Delivery=file or api")
            }
            Mode::Shared if self.delivery() != Some(Delivery::Api) => Some("needs Delivery=api"),
            Mode::Pool | Mode::Shared if self.places() => {
                Some("not possible with Placement=explicit: the partitions have their places")
            }
            Mode::Pool | Mode::Shared | Mode::Host => None,
        };
        fault.map_or(Ok(mode), |fault| Err(fault.into()))
    }

    /// The partitions of a pool.
    pub(crate) fn read_pool(&self, text: &str) -> Value<Pool> {
        self.only_with(Mode::Pool)?;
        text.parse()
    }

    /// The partition that all jobs share.
    pub(crate) fn read_shared_partition(&self, text: &str) -> Value<PartitionId> {
        self.only_with(Mode::Shared)?;
        PartitionId::new(text).map_err(Words::of)
    }

    /// The file with the IPUs of each host.
    pub(crate) fn read_host_map(&self, text: &str) -> Value<HostFile> {
        self.only_with(Mode::Host)?;
        Ok(HostFile { path: text.into(), map: HostMap::default() })
    }

    /// Whether partitions stay after their jobs.
    fn keeps_idle(&self) -> bool {
        let time = self.get(&Key::KeepIdle, value::seconds_or_none);
        time.is_ok_and(|time| time.is_some_and(|time| !time.is_zero()))
    }

    /// The times in which only the largest jobs run.
    pub(crate) fn read_whole_times(&self, text: &str) -> Value<WeeklyTimes> {
        self.only_with(Mode::Partition)?;
        text.parse()
    }

    /// Fails if the model has another mode, in which the value means nothing.
    fn only_with(&self, mode: Mode) -> Value<()> {
        match self.get(&Key::Mode, Mode::read) {
            Ok(given) if given != Some(mode) => Err(words!("means something with Mode={} only", mode.name())),
            // A wrong mode has an error of its own.
            _ => Ok(()),
        }
    }
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The key.
    pub key: &'static Key,
    /// The value as the file or the key's default writes it; `None` if there is none.
    pub value: Option<String>,
    /// The line of the file that gives the value; `None` for a default.
    pub line: Option<usize>,
}

/// Lists the keys with the values that the text of a good file gives them: those of the file in its order,
/// then the others.
pub fn listed(text: &str) -> Vec<Listed> {
    let (given, _) = Given::sort(text);
    let listed = |key: &'static Key| match (given.written(key), key.preset) {
        (Some((value, line)), _) => Listed { key, value: Some(value.to_owned()), line: Some(line) },
        (None, Preset::Value(value)) => Listed { key, value: Some(value.to_owned()), line: None },
        (None, _) => Listed { key, value: None, line: None },
    };
    let mut all: Vec<_> = KEYS.iter().map(listed).collect();
    all.sort_by_key(|entry| entry.line.unwrap_or(usize::MAX));
    all
}

fn missing(key: &Key) -> Problem {
    Problem { reason: Reason::Missing { key: key.name, unit: key.unit, help: key.help }, spot: None }
}

/// The problems in the order of the file, with missing keys at the end.
fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|problem| match &problem.spot {
        Some(spot) => (spot.line, spot.column),
        None => (usize::MAX, 0),
    });
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_conf_keys_are_listed_with_their_lines() {
        let all = listed("# x\napiport=1\nApiHost=\"a\" \\\n IpuofDir=/x\n");
        let shown = |entry: &Listed| format!("{} {:?} {:?}", entry.key.name, entry.value, entry.line);
        assert_eq!(
            all.iter().take(4).map(shown).collect::<Vec<_>>(),
            [
                "ApiPort Some(\"1\") Some(2)",
                "ApiHost Some(\"a\") Some(3)",
                "IpuofDir Some(\"/x\") Some(4)",
                "Nodes None None",
            ]
        );
        assert_eq!(all.len(), KEYS.len());
        assert!(all.iter().any(|entry| entry.key.name == "Allocation" && entry.value.is_none()));
    }
}
