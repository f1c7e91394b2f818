//! The status document that slurmctld writes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use testbed::{Account, Cluster, JobId, wait_for, wait_until};
use vipu_status::{Contact, Ipus, Partition, State, Status, WaitingJob, file_names};

use crate::jobs::{ipus, running_for, waits};
use crate::{LIMIT, let_go, quick};

/// Waits until the document shows this.
fn status_with<T>(
    cluster: &Cluster,
    what: &str,
    found: impl Fn(&Status) -> Option<T>,
) -> Result<(Status, T)> {
    status_in(&cluster.layout().state().join(file_names::WHOLE), what, found)
}

/// Waits until a document shows this.
fn status_in<T>(file: &Path, what: &str, found: impl Fn(&Status) -> Option<T>) -> Result<(Status, T)> {
    wait_for(what, LIMIT, || {
        let Ok(text) = fs::read(file) else { return Ok(None) };
        let status = Status::parse(&text).context("the document is there in part, or wrong")?;
        Ok(found(&status).map(|it| (status, it)))
    })
}

fn partition_of(status: &Status, job: JobId) -> Option<&Partition> {
    status
        .partitions
        .iter()
        .find(|it| it.job.as_deref().is_some_and(|own| own.id.to_string() == job.to_string()))
}

fn waiting(status: &Status, job: JobId) -> Option<&WaitingJob> {
    status.line.iter().find(|it| it.job.as_deref().is_some_and(|own| own.id.to_string() == job.to_string()))
}

#[test]
fn cli_status_document_follows_jobs_and_controller() -> Result<()> {
    quick().run(|cluster| {
        let first = running_for(cluster, 32, 60, &[])?;
        let second = ipus(cluster, 64, 60, &[])?;
        waits(cluster, second, "vipu: 64 IPUs of pod64 needed, 32 free, largest block 32")?;
        let (status, (running, in_line)) = status_with(cluster, "both jobs in the status", |status| {
            let running = partition_of(status, first)?;
            let is_seen = running.state == State::Running && running.ends.is_some();
            let in_line = waiting(status, second).filter(|it| it.reason.is_some() && it.start.is_some())?;
            is_seen.then(|| (running.clone(), in_line.clone()))
        })?;
        let pod = &status.models[0].pods[0];
        let expected = Ipus { total: 64, free: 32, used: 32, ..Ipus::default() };
        ensure!(pod.ipus == expected && pod.largest_free == 32, "{pod:?}");
        ensure!(matches!(pod.contact, Contact::Reached { .. }) && pod.trouble.is_none(), "{pod:?}");
        ensure!(running.id == Some(format!("slurm_{first}")) && running.size == 32, "{running:?}");
        ensure!(running.places.len() == 32 && !running.places_are_assumed, "{running:?}");
        ensure!(in_line.size == 64 && in_line.duration == 3600, "{in_line:?}");
        ensure!(in_line.start >= running.ends && in_line.planned_places.len() == 64, "{in_line:?}");
        ensure!(in_line.reason.as_ref().is_some_and(|why| why.starts_with("vipu: 64 IPUs")), "{in_line:?}");
        let file = cluster.layout().state().join("vipu_status.json");
        let mode = fs::metadata(&file)?.permissions().mode() & 0o777;
        ensure!(mode == 0o640, "{mode:o}");
        let (document, own) = public(cluster, &Account::root()?)?;
        status_in(&document, "the owner", |status| partition_of(status, first).map(drop))?;
        let mode = fs::metadata(&document)?.permissions().mode() & 0o777;
        ensure!(mode == 0o644 && !own.exists(), "{mode:o}, {}", own.display());

        let_go(cluster)?;
        status_with(cluster, "an empty Pod", |status| {
            (status.partitions.is_empty() && status.line.is_empty()).then_some(())
        })?;
        let contact = |status: &Status| status.models.first()?.pods.first().map(|pod| pod.contact.clone());
        cluster.mock().refuse()?;
        let lost = |status: &Status| contact(status).filter(|it| matches!(it, Contact::Lost { .. }));
        let (status, _) = status_with(cluster, "the lost controller", lost)?;
        ensure!(status.models[0].trouble.is_some() && status.models[0].largest_now == 0, "{status:?}");
        cluster.mock().clear()?;
        let reached = |status: &Status| contact(status).filter(|it| matches!(it, Contact::Reached { .. }));
        status_with(cluster, "the controller again", reached).map(drop)
    })
}

/// The document for all users, and the file with the jobs of this user beside it.
fn public(cluster: &Cluster, user: &Account) -> Result<(PathBuf, PathBuf)> {
    let (whole, ()) = status_with(cluster, "the status", |_| Some(()))?;
    let name = whole.writer.cluster;
    let ipuof = cluster.layout().ipuof();
    Ok((ipuof.join(file_names::public(&name)), ipuof.join(file_names::own_jobs(&name, user.uid))))
}

#[test]
fn cli_status_document_for_all_users_obeys_private_data() -> Result<()> {
    quick().slurm_conf("PrivateData=jobs").run(|cluster| {
        let job = running_for(cluster, 32, 60, &[])?;
        let root = Account::root()?;
        let (document, own) = public(cluster, &root)?;
        let running =
            |status: &Status| status.partitions.first().is_some_and(|it| it.state == State::Running);
        let hidden = |status: &Status| running(status).then_some(());
        let (mut status, ()) = status_in(&document, "the partition", hidden)?;
        ensure!(status.partitions[0].id.is_none() && status.partitions[0].job.is_none(), "{status:?}");
        let text = wait_for("the user's own jobs", LIMIT, || Ok(fs::read(&own).ok()))?;
        status.fill_in(serde_json::from_slice(&text)?);
        ensure!(partition_of(&status, job).is_some(), "{status:?}");
        let other = Account::named("nobody")?;
        let read = cluster.command("cat").account(&other).args(&[&own.display().to_string()]).output()?;
        ensure!(read.code != 0, "another user reads {}: {}", own.display(), read.stdout);
        let_go(cluster)?;
        wait_until("the end of the user's file", LIMIT, || Ok(!own.exists()))
    })
}
