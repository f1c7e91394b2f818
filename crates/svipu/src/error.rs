//! The reasons why svipu shows nothing.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use vipu_status::file_names;
use vipu_types::Words;

use crate::read_document::Source;

/// The reason why svipu shows nothing. Each text is one line and says what to do where that is not plain.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(
        "found no status document: give --status PATH, set SVIPU_STATUS, or write status = \"PATH\" into /etc/svipu.toml; slurmctld writes it into StatusDir of vipu.conf, or else IpuofDir"
    )]
    NotFound,
    #[error(
        "{path} has no status document: neither {whole} nor {public}",
        path = .0.display(), whole = file_names::WHOLE, public = file_names::public("CLUSTER")
    )]
    NoneIn(PathBuf),
    #[error("several clusters have a document: name one with --status, {shown}", shown = paths(.0))]
    SeveralClusters(Vec<PathBuf>),
    #[error("{path}: {why}", path = .0.display(), why = .1)]
    Unreadable(PathBuf, Words),
    #[error("{0}: {1}")]
    NoDocument(Source, Words),
    #[error("{kind} {name} is unknown: {known}")]
    Unknown { kind: &'static str, name: String, known: String },
    #[error("{path}: no node offers such a model{known}: see Gres=vipu:<model>:no_consume:<IPUs>", path = .0.display(), known = if .1.is_empty() { String::new() } else { format!(" (known are {})", .1) })]
    NoModel(PathBuf, String),
    /// A reason that no other command has.
    #[error(transparent)]
    Words(#[from] Words),
    #[error("column {name} is unknown: the columns are {known}")]
    Column { name: String, known: String },
    #[error("job {job} {why}")]
    NoIpus { job: String, why: String },
    #[error(
        "'{0}' cannot be part of the options: it has a character that ends a word of a shell, or has a meaning in options for mounts; \
         use svipu env without an option for a container, and write the options by hand"
    )]
    NoContainer(String),
    #[error("svipu hostfile tells of the job in which it runs: use it in {0}, or in salloc's shell")]
    OutsideJob(String),
    #[error("{0}: {1}")]
    JobVariable(&'static str, String),
    #[error("cannot find the network between the nodes: {0}: give --interface NAME or --interface NETWORK")]
    NoInterface(Words),
    #[error("{path}: cannot write the man pages: {why}", path = .0.display(), why = .1)]
    Unwritable(PathBuf, std::io::Error),
    #[error(
        "top is a live screen: it needs a terminal as standard input and output, with a TERM other than dumb, and takes no --json, --noheader or --format; svipu status prints the state once"
    )]
    Live,
    #[error("the terminal failed: {0}")]
    Terminal(#[from] std::io::Error),
    #[error("-o/--format goes with queue, partitions and limits only, and not with --json")]
    NoColumns,
    #[error("--json goes with conf show, doctor, env, limits and the commands that show the status document")]
    NoJson,
    #[error(
        "-w/--watch and -i/--interval go with the commands that show the status document as text or JSON"
    )]
    NoInterval,
    #[error("cannot listen on {0}: {1}: give --listen ADDRESS:PORT")]
    Listen(SocketAddr, io::Error),
    #[error("{socket}: {why}", socket = .0.display(), why = .1)]
    Socket(PathBuf, String),
    #[error("{file} says AdminSocket=none, so slurmctld takes no requests", file = .0.display())]
    NoSocket(PathBuf),
    #[error("refused: {0}")]
    Refused(String),
    #[error("give --reason TEXT, for slurmctld's log")]
    NoReason,
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

fn paths(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" or ")
}

impl Failure {
    /// An unknown name, with the names that are known. Long names are cut, and a long list as well.
    pub(crate) fn unknown(kind: &'static str, name: &str, known: &[String]) -> Self {
        let shown: Vec<_> = known.iter().take(20).map(|name| crate::safe::cut(name, 40)).collect();
        let more = if known.len() > shown.len() { ", ..." } else { "" };
        let known = match shown.is_empty() {
            true => "the document names none, or hides the owners of jobs".to_owned(),
            false => format!("known are {}{more}", shown.join(", ")),
        };
        Self::Unknown { kind, name: crate::safe::cut(name, 40), known }
    }

    /// The error about an unknown name with one more clause.
    pub(crate) fn with(self, clause: &str) -> Self {
        match self {
            Self::Unknown { kind, name, known } => {
                Self::Unknown { kind, name, known: format!("{known}; {clause}") }
            }
            other => other,
        }
    }

    /// The text without the path of the document, for a screen that always shows one document.
    pub(crate) fn reason(self) -> Words {
        match self {
            Self::NoDocument(_, why) => why,
            other => Words::of(other),
        }
    }

    /// The exit status.
    pub(crate) fn exit(&self) -> u8 {
        match self {
            Self::Column { .. }
            | Self::NoColumns
            | Self::NoJson
            | Self::NoInterval
            | Self::NoReason
            | Self::Live => 2,
            _ => 1,
        }
    }
}
