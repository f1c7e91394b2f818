//! The reasons why svipu shows nothing.

use std::path::PathBuf;

/// The reason why svipu shows nothing. Each text is one line and says what to do where that is not plain.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(
        "found no status document: give --status PATH, set SVIPU_STATUS, or write status = \"PATH\" into /etc/svipu.toml; slurmctld writes vipu_status.json into StateSaveLocation"
    )]
    NotFound,
    #[error("{path}: {why}", path = .0.display(), why = .1)]
    Unreadable(PathBuf, String),
    #[error("{kind} {name} is unknown: {known}")]
    Unknown { kind: &'static str, name: String, known: String },
    #[error("column {name} is unknown: the columns are {known}")]
    Column { name: String, known: String },
    #[error("-o/--format goes with queue and partitions only")]
    NoColumns,
    #[error("{socket}: {why}", socket = .0.display(), why = .1)]
    Socket(PathBuf, String),
    #[error("{file} says AdminSocket=none, so slurmctld takes no requests", file = .0.display())]
    NoSocket(PathBuf),
    #[error("refused: {0}")]
    Refused(String),
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
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

    /// The exit status.
    pub(crate) fn exit(&self) -> u8 {
        match self {
            Self::Column { .. } | Self::NoColumns => 2,
            _ => 1,
        }
    }
}
