//! The vipu-host thread: the only thread that takes slurmctld's locks.

use std::sync::Weak;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use frontend::HostTask;
use slurm_host::boundary;
use slurm_host::locks::LockPermit;
use vipu_types::Words;

use crate::plugin::Plugin;
use crate::slurm_records::Slurm;

/// Starts the thread.
pub(crate) fn start(tasks: Receiver<HostTask>, plugin: Weak<Plugin>) -> Result<(), Words> {
    LockPermit::spawn("vipu-host", move |permit| {
        let slurm = Slurm { permit, plugin: plugin.clone() };
        run(&tasks, &plugin, slurm);
    })
}

fn run(tasks: &Receiver<HostTask>, plugin: &Weak<Plugin>, mut slurm: Slurm) {
    let mut host = frontend::HostThread::default();
    loop {
        let Some(pause) = plugin.upgrade().map(|plugin| host.pause(&plugin.frontend)) else { return };
        let first = match tasks.recv_timeout(pause) {
            Ok(task) => Some(task),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let Some(plugin) = plugin.upgrade() else { return };
        let batch: Vec<_> = first.into_iter().chain(tasks.try_iter()).collect();
        // Work for one job has a guard of its own. After any other panic tasks may be lost.
        boundary::guard_else(
            &|| "vipu-host".into(),
            || plugin.frontend.distrust(),
            || host.work(&plugin.frontend, &mut slurm, batch),
        );
    }
}
