//! The tool's own configuration: svipu.toml of the user, and that of the host.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use vipu_types::{Words, words};

use crate::arguments::{Command, Common};
use crate::error::Failure;
use crate::network_interface::Interface;
use crate::page::Colours;
use crate::read_document::Source;
use crate::safe;
use crate::surroundings::Surroundings;

/// The name of the files.
const NAME: &str = "svipu.toml";

/// What the files say. Options of the command line come first, then the user's file, then that of the host.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Configuration {
    /// The status document, its directory, or the address of an exporter.
    pub(crate) status: Option<PathBuf>,
    color: Option<Colours>,
    model: Option<String>,
    /// The network between the nodes of jobs.
    pub(crate) interface: Option<Interface>,
    /// The columns of lists, as `--format` takes them.
    #[serde(default)]
    columns: BTreeMap<List, String>,
}

/// A list with columns of choice.
#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum List {
    Queue,
    Partitions,
}

impl Configuration {
    /// Reads both files. A missing one is no error.
    pub(crate) fn read(surroundings: &Surroundings) -> Result<Self, Failure> {
        let own = surroundings.variable("XDG_CONFIG_HOME").map(PathBuf::from);
        let own = own.or_else(|| Some(Path::new(surroundings.variable("HOME")?).join(".config")));
        let own = own.map(|folder| Self::of_folder(&folder)).transpose()?.unwrap_or_default();
        Ok(own.or(Self::of_folder(&surroundings.etc)?))
    }

    fn of_folder(folder: &Path) -> Result<Self, Failure> {
        let file = folder.join(NAME);
        let unreadable = |why: Words| Failure::Unreadable(file.clone(), why);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(why) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&why.kind()) => {
                return Ok(Self::default());
            }
            Err(why) => return Err(unreadable(words!("cannot read it: {why}"))),
        };
        let mut read: Self = toml::from_str(&text).map_err(|why| unreadable(words(&why, &text)))?;
        read.status = read.status.map(|words| match Source::from(words.clone()) {
            Source::File(path) => folder.join(path),
            Source::Exporter(_) => words,
        });
        Ok(read)
    }

    /// What this file says, and what the other one says beyond it.
    fn or(self, other: Self) -> Self {
        Self {
            status: self.status.or(other.status),
            color: self.color.or(other.color),
            model: self.model.or(other.model),
            interface: self.interface.or(other.interface),
            columns: other.columns.into_iter().chain(self.columns).collect(),
        }
    }

    /// The options of a command line, with those that it leaves to the files.
    pub(crate) fn complete(&self, common: &Common, command: &Command) -> Common {
        let columns = match command {
            Command::Queue => self.columns.get(&List::Queue),
            Command::Partitions => self.columns.get(&List::Partitions),
            _ => None,
        };
        let mut common = common.clone();
        common.color = common.color.or(self.color);
        common.model_is_configured = common.model.is_none() && self.model.is_some();
        common.model = common.model.or_else(|| self.model.clone());
        common.format = common.format.or_else(|| columns.cloned());
        common
    }
}

/// An error in one line.
fn words(why: &toml::de::Error, text: &str) -> Words {
    let before = why.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| format!("line {}: ", before.matches('\n').count() + 1));
    safe::cut(&format!("{}{}", line.unwrap_or_default(), why.message().replace('\n', "; ")), 200).into()
}
