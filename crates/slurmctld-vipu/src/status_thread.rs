//! The vipu-status thread: composes the status document when something has changed, and as a sign of life. It
//! writes the whole document, and has the documents for all users written.
//!
//! No thread waits for this one. It takes the ledger's mutex for one portion of a copy at a time. A document
//! that cannot be written costs a line in the log and nothing else.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::{Duration, Instant};

use frontend::StatusComposer;
use nix::unistd::{Gid, Group};
use slurm_host::running_release::loaded;
use slurm_host::{boundary, threads};
use tracing::{info, warn};
use vipu_status::{Status, Writer, file_names};
use vipu_types::Words;

use crate::plugin::Plugin;
use crate::public_status::PublicStatus;

/// The time from a change to the document, and so the shortest time between two documents.
const INTERVAL: Duration = Duration::from_secs(1);

/// The longest time without a new document. A reader takes an older one for a sign that slurmctld is down.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// Starts the thread. The documents go to `dir`, which is StateSaveLocation.
pub(crate) fn start(plugin: Weak<Plugin>, dir: &Path, cluster: String) -> Result<(), Words> {
    let slurm = loaded().map(|loaded| loaded.release.version.to_string()).unwrap_or_default();
    let mut thread =
        StatusThread { slurm, cluster, path: dir.join(file_names::WHOLE), ..StatusThread::default() };
    threads::spawn("vipu-status", move || {
        // After a takeover by another slurmctld the document is that one's.
        while let Some(plugin) = plugin.upgrade().filter(|plugin| !plugin.is_over()) {
            plugin.frontend.wakes_for_status(std::thread::current());
            boundary::guard(&|| "vipu-status".into(), (), || thread.turn(&plugin));
            drop(plugin);
            std::thread::park_timeout(SIGN_OF_LIFE - INTERVAL);
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
    public: PublicStatus,
    /// StatusGroup, and its number as of the last look.
    group: (Option<String>, Option<Gid>),
    /// The revision of the last document, and its time.
    last: Option<([u64; 3], Instant)>,
    /// Whether the last document could not be written.
    is_failing: bool,
}

impl StatusThread {
    fn turn(&mut self, plugin: &Plugin) {
        let revision = plugin.frontend.status_revision();
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
        let mut status = self.composer.compose(&plugin.frontend, writer, plugin.conf_files());
        plugin.counters.fill_in(&mut status);
        self.write(&status, plugin.frontend.models().status_group());
        let dirs = plugin.frontend.models().status_dirs();
        if self.public.is_unwanted(&dirs) {
            return;
        }
        let status = if plugin.hides_reservations() { status.without_reservations() } else { status };
        self.public.publish(&dirs, status, plugin.hides_jobs());
    }

    fn write(&mut self, status: &Status, group: Option<String>) {
        let group = self.number_of(group);
        let written = match replace(&self.path, status, group) {
            Err(why) if group.is_some() && why.kind() == ErrorKind::PermissionDenied => {
                warn!(
                    "StatusGroup: {why}: SlurmUser must be in that group; until slurmctld is restarted, the status has the usual group"
                );
                self.group.1 = None;
                replace(&self.path, status, None)
            }
            written => written,
        };
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

    /// The number of this group. The host may ask a server for it, so that it is looked up once.
    fn number_of(&mut self, group: Option<String>) -> Option<Gid> {
        if self.group.0 != group {
            let found = group.as_deref().map_or(Ok(None), Group::from_name);
            if let (Some(name), Ok(None) | Err(_)) = (&group, &found) {
                warn!(
                    "StatusGroup={name}: this host knows no group of that name; its members cannot read the status"
                );
            }
            self.group = (group, found.ok().flatten().map(|group| group.gid));
        }
        self.group.1
    }
}

/// Replaces the file by one with this document, readable for a group: the usual one if none is given. A reader
/// sees the old text or the new one.
fn replace(path: &Path, status: &Status, group: Option<Gid>) -> io::Result<()> {
    failpoints::io!("the status document");
    let new = path.with_extension("json.new");
    // A file that is left of an earlier slurmctld may have other permissions.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o640).open(&new)?;
    let handed_over = group.map_or(Ok(()), |group| fchown(&file, None, Some(group.as_raw())));
    let write = || {
        let mut file = BufWriter::new(file);
        status.write_json(&mut file)?;
        file.flush()?;
        fs::rename(&new, path)
    };
    handed_over.and_then(|()| write()).inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}
