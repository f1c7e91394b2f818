//! What administrators ask of a running slurmctld: the socket, and the drains that outlive a slurmctld.
//!
//! All of it runs on the vipu-io thread, and files are written on its vipu-disk threads. The front end decides.

mod drains_file;
mod server;
mod socket_file;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use frontend::Models;

use nix::unistd::{Uid, User};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::{error, info, warn};
use vipu_admin::{Answer, Request};
use vipu_status::AuditLine;

pub(crate) use self::drains_file::DrainsFile;
use self::server::{Limits, Server};
use crate::admin_settings::AdminSettings;
use crate::plugin::Plugin;

/// The time between two tries to make the socket. A slurmctld that this one replaces may have it still.
const RETRY: Duration = Duration::from_secs(5);

/// The time between two looks for drains that are over.
const TICK: Duration = Duration::from_secs(1);

/// Serves the socket and ends drains, as long as there is the plugin. Needs the drains of an earlier slurmctld
/// to be restored.
pub(crate) fn start(plugin: &Weak<Plugin>, drains: DrainsFile, settings: watch::Receiver<AdminSettings>) {
    let (drains, plugin) = (Arc::new(drains), plugin.clone());
    tokio::spawn(end_drains(plugin.clone(), Arc::clone(&drains)));
    tokio::spawn(serve(plugin, drains, settings));
}

async fn end_drains(plugin: Weak<Plugin>, drains: Arc<DrainsFile>) {
    loop {
        sleep(TICK).await;
        let Some(has_ended) = plugin.upgrade().map(|plugin| plugin.frontend.end_drains()) else { return };
        // If that fails, a later slurmctld ends them again.
        if has_ended && let Err(why) = drains.save(&plugin).await {
            error!("{why}");
        }
    }
}

async fn serve(plugin: Weak<Plugin>, drains: Arc<DrainsFile>, mut settings: watch::Receiver<AdminSettings>) {
    loop {
        let now = settings.borrow_and_update().clone();
        tokio::select! {
            () = serve_at(&plugin, &drains, now) => return,
            changed = settings.changed() => if changed.is_err() { return },
        }
    }
}

/// Serves with these settings until it is dropped.
async fn serve_at(plugin: &Weak<Plugin>, drains: &Arc<DrainsFile>, settings: AdminSettings) {
    let AdminSettings { path, slurm_user } = settings;
    let Some(path) = path else { return std::future::pending().await };
    let (mut tries, mut told) = (0_u32, None);
    let listener = loop {
        match socket_file::listen(&path).await {
            Ok(listener) => break listener,
            // The first failure is usual while one slurmctld replaces another.
            Err(why) if tries > 0 && told.as_ref() != Some(&why) => {
                warn!("no administrator can use {}: {why}", path.display());
                told = Some(why);
            }
            Err(_) => {}
        }
        tries += 1;
        sleep(RETRY).await;
    };
    if told.is_some() {
        info!("administrators can use {} again", path.display());
    }
    let (plugin, drains) = (plugin.clone(), Arc::clone(drains));
    let carry_out = move |peer, request| carry_out(plugin.clone(), Arc::clone(&drains), peer, request);
    Server { slurm_user, limits: Limits::default(), carry_out }.run(listener).await
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
    let (began, what, why) = (Instant::now(), request.action(), request.reason().map(str::to_owned));
    let answer = plugin.frontend.steer(by, request);
    let outcome = match &answer {
        Answer::Done(_) => "ok".to_owned(),
        Answer::Refused(why) => format!("refused: {why}"),
    };
    let (by, seconds) = (Some(by.to_owned()), began.elapsed().as_secs_f64());
    audit(plugin, AuditLine { what, by, why, seconds, outcome, ..AuditLine::default() });
    answer
}

/// Puts a request into the audit log, if that has requests.
pub(crate) fn audit(plugin: &Plugin, line: AuditLine) {
    if plugin.frontend.models(Models::audits_administrators) {
        plugin.audit.request(line);
    }
}

/// The name of a user, or the number if there is no name. A directory of users may be slow.
pub(crate) fn name_of(user: u32) -> String {
    let found = User::from_uid(Uid::from_raw(user)).ok().flatten();
    found.map_or_else(|| user.to_string(), |user| user.name)
}
