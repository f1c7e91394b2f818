//! The vipu-status thread: writes the status document when something has changed, and as a sign of life.
//!
//! No thread waits for this one. It takes the ledger's mutex for one portion of a copy at a time. A document
//! that cannot be written costs a line in the log and nothing else.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::{Duration, Instant};

use frontend::StatusComposer;
use slurm_host::running_release::loaded;
use slurm_host::{boundary, threads};
use tracing::{info, warn};
use vipu_status::Writer;

use crate::plugin::Plugin;

/// The name of the document.
const NAME: &str = "vipu_status.json";

/// The time between two looks at whether something has changed, and so between two documents.
const INTERVAL: Duration = Duration::from_secs(1);

/// The longest time without a new document. A reader takes an older one for a sign that slurmctld is down.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// Starts the thread. The documents go to `dir`, which is StateSaveLocation. The error is one line.
pub(crate) fn start(plugin: Weak<Plugin>, dir: &Path, cluster: String) -> Result<(), String> {
    let slurm = loaded().map(|loaded| loaded.release.version.to_string()).unwrap_or_default();
    let mut thread = StatusThread { slurm, cluster, path: dir.join(NAME), ..StatusThread::default() };
    threads::spawn("vipu-status", move || {
        // After a takeover by another slurmctld the document is that one's.
        while let Some(plugin) = plugin.upgrade().filter(|plugin| !plugin.is_over()) {
            boundary::guard(&|| "vipu-status".into(), (), || thread.turn(&plugin));
            drop(plugin);
            std::thread::sleep(INTERVAL);
        }
    })
}

#[derive(Default)]
struct StatusThread {
    slurm: String,
    cluster: String,
    path: PathBuf,
    composer: StatusComposer,
    /// The revision of the ledger in the last document, and the time of that document.
    last: Option<((u64, u64), Instant)>,
    /// Whether the last document could not be written.
    is_failing: bool,
}

impl StatusThread {
    fn turn(&mut self, plugin: &Plugin) {
        let revision = plugin.frontend.ledger().revision();
        if self.last.is_some_and(|(last, when)| last == revision && when.elapsed() < SIGN_OF_LIFE) {
            return;
        }
        self.last = Some((revision, Instant::now()));
        let writer = Writer {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            slurm: self.slurm.clone(),
            cluster: self.cluster.clone(),
            started: plugin.opened(),
        };
        let status = self.composer.compose(&plugin.frontend, writer, plugin.conf_files());
        let written =
            status.to_json().map_err(io::Error::from).and_then(|text| replace(&self.path, &text, 0o640));
        match &written {
            Ok(()) if self.is_failing => info!("{}: the status is written again", self.path.display()),
            Err(why) if !self.is_failing => {
                warn!(
                    "cannot write the status to {}: {why}; mend that: svipu shows an old state until then",
                    self.path.display()
                );
            }
            _ => {}
        }
        self.is_failing = written.is_err();
    }
}

/// Replaces the file by one with this text and these permissions. A reader sees the old text or the new one.
fn replace(path: &Path, text: &[u8], mode: u32) -> io::Result<()> {
    failpoints::io!("the status document");
    let new = path.with_extension("json.new");
    // A file that is left of an earlier slurmctld may have other permissions.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
    file.write_all(text).and_then(|()| fs::rename(&new, path)).inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}
