//! The facts about the process that decide what svipu shows.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use nix::unistd::{gethostname, getuid};

use crate::user_names::Users;

/// The time, the user and the environment.
pub struct Surroundings {
    /// The Unix time in seconds.
    pub now: i64,
    /// The time zone in which times are shown.
    pub zone: TimeZone,
    /// The numeric id of the caller.
    pub user: u32,
    /// The names of users.
    pub users: Users,
    /// The environment.
    pub variables: BTreeMap<String, OsString>,
    /// Whether standard output is a terminal.
    pub terminal: bool,
    /// The columns and rows of the terminal, if standard output is one that tells them.
    pub size: Option<(u16, u16)>,
    /// The name of this host.
    pub host: String,
    /// The root of the file system that `doctor` examines, `/` but in tests.
    pub root: PathBuf,
    /// The directory of the files for all users, `/etc` but in tests.
    pub etc: PathBuf,
}

impl Surroundings {
    /// Those of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let terminal = io::stdout().is_terminal();
        Self {
            now: Timestamp::now().as_second(),
            zone: TimeZone::system(),
            user: getuid().as_raw(),
            users: Users::Host(RefCell::default()),
            variables: variables.collect(),
            terminal,
            // A terminal without a size, as of some consoles, has room for all.
            size: terminal
                .then(crossterm::terminal::size)
                .and_then(Result::ok)
                .filter(|(columns, _)| *columns > 0),
            host: gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            root: "/".into(),
            etc: "/etc".into(),
        }
    }

    /// A variable of the environment. An empty one counts as unset.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.get(name).filter(|value| !value.is_empty())
    }

    /// Whether the terminal takes UTF-8, by the locale.
    pub(crate) fn utf8(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| self.variable(name));
        let locale = locale.map(|locale| locale.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        locale.contains("utf-8") || locale.contains("utf8")
    }
}
