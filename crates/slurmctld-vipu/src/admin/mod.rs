//! What administrators ask of a running slurmctld: the socket, and the drains that outlive a slurmctld.
//!
//! All of it runs on the vipu-io thread, and files are written on its vipu-disk threads. The front end decides.

mod drains_file;
mod server;
mod socket_file;

use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use driver::Ownership;
use nix::unistd::{Uid, User};
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tracing::{error, info, warn};
use vipu_admin::{Answer, Request};
use vipu_status::AuditLine;

pub(crate) use self::drains_file::DrainsFile;
use self::server::{Limits, Server};
use self::socket_file::{NoSocket, SocketFile};
use crate::plugin::{AdminSettings, Plugin};

/// The time between two tries to make the socket.
const RETRY: Duration = Duration::from_secs(2);

/// The time for which a slurmctld that this one replaces may serve the path. It learns of this one after
/// some seconds.
const HANDOVER: Duration = Duration::from_secs(15);

/// The longest time that the removal of the file is waited for.
const REMOVAL: Duration = Duration::from_secs(1);

/// The longest time between two looks for drains that are over. The clock can be set meanwhile.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Serves the socket and ends drains, as long as there is the plugin. Needs the drains of an earlier slurmctld
/// to be restored.
pub(crate) fn start(
    plugin: &Weak<Plugin>,
    drains: DrainsFile,
    settings: watch::Receiver<AdminSettings>,
    ownership: Ownership,
) {
    let (drains, plugin) = (Arc::new(drains), plugin.clone());
    tokio::spawn(end_drains(plugin.clone(), Arc::clone(&drains)));
    tokio::spawn(serve(plugin, drains, settings, ownership));
}

async fn end_drains(plugin: Weak<Plugin>, drains: Arc<DrainsFile>) {
    loop {
        let Some(next) = plugin.upgrade().map(|plugin| plugin.frontend.time_to_end_of_drain()) else {
            return;
        };
        let _ = timeout(next.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT), drains.changed()).await;
        let Some(has_ended) = plugin.upgrade().map(|plugin| plugin.frontend.end_drains()) else { return };
        // If that fails, a later slurmctld ends them again.
        if has_ended && let Err(why) = drains.save(&plugin).await {
            error!("{why}");
        }
    }
}

async fn serve(
    plugin: Weak<Plugin>,
    drains: Arc<DrainsFile>,
    mut settings: watch::Receiver<AdminSettings>,
    ownership: Ownership,
) {
    while !is_over(&plugin) {
        let AdminSettings { path, slurm_user } = settings.borrow_and_update().clone();
        let Some(path) = path else {
            changed(&ownership, &mut settings).await;
            continue;
        };
        let (listener, file) = tokio::select! {
            socket = socket(&path) => socket,
            () = changed(&ownership, &mut settings) => continue,
        };
        let (own, drains) = (plugin.clone(), Arc::clone(&drains));
        let carry_out = move |peer, request| carry_out(own.clone(), Arc::clone(&drains), peer, request);
        let mut serving = pin!(Server { slurm_user, limits: Limits::default(), carry_out }.run(listener));
        tokio::select! {
            () = &mut serving => {}
            () = file.is_lost() => {}
            () = changed(&ownership, &mut settings) => {}
        }
        // The listener is still open, so that the next slurmctld does not put its own file there just now.
        let _ = timeout(REMOVAL, file.remove()).await;
    }
}

/// Whether another slurmctld is in charge, or another plugin of this one.
fn is_over(plugin: &Weak<Plugin>) -> bool {
    plugin.upgrade().is_none_or(|plugin| plugin.is_over())
}

/// Waits until the settings have changed or the plugin is over.
async fn changed(ownership: &Ownership, settings: &mut watch::Receiver<AdminSettings>) {
    tokio::select! {
        // Fails when the plugin is closed.
        _ = settings.changed() => {}
        () = ownership.lost() => {}
    }
}

/// Makes the socket. Tries until that succeeds.
async fn socket(path: &Path) -> (UnixListener, SocketFile) {
    let (began, mut told) = (Instant::now(), None);
    loop {
        match socket_file::listen(path).await {
            Ok(socket) => {
                if told.is_some() {
                    info!("administrators can use {} now", path.display());
                }
                return socket;
            }
            Err(NoSocket::Served) if began.elapsed() < HANDOVER => {}
            Err(why) if told.as_ref() == Some(&why) => {}
            Err(why) => {
                warn!("no administrator can use {}: {why}", path.display());
                told = Some(why);
            }
        }
        sleep(RETRY).await;
    }
}

/// Carries out a request of this user, and saves what has to outlive this slurmctld before it answers.
async fn carry_out(plugin: Weak<Plugin>, drains: Arc<DrainsFile>, peer: u32, request: Request) -> Answer {
    // A directory of users may be slow.
    let by = spawn_blocking(move || name_of(peer)).await.unwrap_or_else(|_| peer.to_string());
    let changes_drains = matches!(request, Request::Drain { .. } | Request::Resume { .. });
    let in_charge = plugin.upgrade().filter(|plugin| !plugin.is_over());
    let Some(answer) = in_charge.map(|plugin| audited(&plugin, &by, request)) else {
        return Answer::Refused("another slurmctld is in charge: use svipu on its host".into());
    };
    match answer {
        Answer::Done(text) if changes_drains => match drains.save(&plugin).await {
            Ok(()) => Answer::Done(text),
            Err(why) => {
                error!("{why}");
                Answer::Done(format!("{text}; WARNING: {why}"))
            }
        },
        answer => answer,
    }
}

/// Carries out a request, and puts it into the audit log.
fn audited(plugin: &Plugin, by: &str, request: Request) -> Answer {
    let began = Instant::now();
    let line = AuditLine {
        what: request.action().to_owned(),
        by: Some(by.to_owned()),
        why: request.reason().map(str::to_owned),
        target: request.target().map(str::to_owned),
        ..AuditLine::default()
    };
    let answer = plugin.frontend.steer(by, request);
    let (outcome, refusal) = match &answer {
        Answer::Done(_) => ("ok", None),
        Answer::Refused(why) => ("refused", Some(why.clone())),
    };
    let (outcome, seconds) = (outcome.to_owned(), began.elapsed().as_secs_f64());
    audit(plugin, AuditLine { seconds, outcome, refusal, ..line });
    answer
}

/// Puts a request into the audit log, if that has requests.
pub(crate) fn audit(plugin: &Plugin, line: AuditLine) {
    if plugin.frontend.models().audits_administrators() {
        plugin.audit.request(line);
    }
}

/// The name of a user, or the number if there is no name. A directory of users may be slow.
fn name_of(user: u32) -> String {
    let found = User::from_uid(Uid::from_raw(user)).ok().flatten();
    found.map_or_else(|| user.to_string(), |user| user.name)
}
