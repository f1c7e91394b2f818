//! Clusters from the example files in conf/: an administrator who starts from them gets a site that works.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
};

use anyhow::{Context, Result, ensure};
use mock_vipu::{Authority, Signed};
use testbed::{
    Account, Cluster,
    example::{Here, ONE_NODE, SECURE, TWO_MODELS},
    main_job,
};
use vipu_types::Delivery;

use crate::{LIMIT, quick};

/// A job of this model gets as many IPUs as it asks for, on the controller of this number, and leaves nothing.
fn runs(cluster: &Cluster, model: &str, ipus: u32, controller: usize) -> Result<()> {
    let job = cluster.sbatch(main_job::SHOW, &[&format!("--gres=vipu:{model}:{ipus}")])?;
    let ended = cluster.await_end(job, LIMIT)?;
    let output = cluster.job_output(job);
    ensure!(ended.state == "COMPLETED", "{ended:?}: {output}");
    let shown = main_job::Shown::parse(&output)?;
    ensure!(shown.environment["SLURM_VIPU_MODEL"] == model, "{output}");
    ensure!(shown.file.devices.len() == usize::try_from(ipus)?, "{output}");
    cluster.controller(controller).await_removed(shown.partition()?, LIMIT).map(drop)
}

#[test]
fn user_example_site_one_node_runs_a_job() -> Result<()> {
    let here = [
        ("vipu-controller.example.org", Here::Controller(0)),
        ("/shared/ipuof", Here::IpuofDir),
        ("ipu-pod64-001", Here::Node(1)),
    ];
    quick().example(&ONE_NODE, &here).run(|cluster| runs(cluster, "pod64", 16, 0))
}

#[test]
fn user_example_site_two_models_runs_a_job() -> Result<()> {
    let here = [
        ("vipu-pod64.example.org", Here::Controller(0)),
        ("vipu-pod16.example.org", Here::Controller(1)),
        ("/shared/ipuof", Here::IpuofDir),
        ("ipu-pod64-001", Here::Node(1)),
        ("ipu-pod16-001", Here::Node(2)),
    ];
    quick().controller(&["--preset=pod16"]).example(&TWO_MODELS, &here).run(|cluster| {
        runs(cluster, "pod64", 64, 0)?;
        runs(cluster, "pod16", 16, 1)
    })
}

#[test]
fn user_example_site_secure_runs_a_job() -> Result<()> {
    let slurm = Account::named("slurm")?;
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    let put = |name: &str, text: &str, mode: u32| -> Result<()> {
        let path = folder.path().join(name);
        fs::write(&path, text)?;
        chown(&path, Some(slurm.uid), Some(slurm.gid))?;
        Ok(fs::set_permissions(&path, fs::Permissions::from_mode(mode))?)
    };
    let authority = Authority::new("site")?;
    put("ca.pem", &authority.pem(), 0o644)?;
    for (name, owner) in [("server", "vipu-controller.example.org"), ("slurm", "slurm")] {
        let Signed { certificate, key } = authority.sign(owner)?;
        put(&format!("{name}.pem"), &certificate, 0o644)?;
        put(&format!("{name}.key"), &key, 0o600)?;
    }
    let access = SECURE.file("access").context("no access file")?;
    put("access", access, 0o600)?;
    let value = |name: &str| access.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let (user, key) = value("api-user-id").zip(value("api-access-key")).context("no user in it")?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mock = [
        format!("--tls-cert={}", path("server.pem")),
        format!("--tls-key={}", path("server.key")),
        format!("--tls-client-ca={}", path("ca.pem")),
        format!("--user={user}:{key}"),
    ];
    let here = [
        ("10.20.0.5", Here::Controller(0)),
        ("/etc/slurm/vipu", Here::Folder(folder.path().into())),
        ("/run/slurm-vipu", Here::Steps),
        ("ipu-pod64-001", Here::Node(1)),
    ];
    let settings = quick().mock(&mock.each_ref().map(String::as_str)).delivery(Delivery::Node);
    settings.example(&SECURE, &here).run(|cluster| runs(cluster, "pod64", 16, 0))
}
