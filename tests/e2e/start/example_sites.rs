//! Clusters from the example files in conf/: they work for an administrator who starts from them.

use anyhow::{Context, Result};
use testbed::example_site::{Here, ONE_NODE, SECURE, TWO_MODELS};
use vipu_types::Delivery;

use super::tls::Site;
use crate::{jobs::runs_on, quick};

#[test]
fn user_example_site_one_node_runs_a_job() -> Result<()> {
    let here = [
        ("vipu-controller.example.org", Here::Controller(0)),
        ("/shared/ipuof", Here::IpuofDir),
        ("ipu-pod64-001", Here::Node(1)),
    ];
    quick().example(&ONE_NODE, &here).run(|cluster| runs_on(cluster, "pod64", 16, 0).map(drop))
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
        runs_on(cluster, "pod64", 64, 0)?;
        runs_on(cluster, "pod16", 16, 1).map(drop)
    })
}

#[test]
fn user_example_site_secure_runs_a_job() -> Result<()> {
    let site = Site::new("vipu-controller.example.org")?;
    let access = SECURE.file("access").context("no access file")?;
    site.put("access", access, 0o600)?;
    let value = |name: &str| access.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let (user, key) = value("api-user-id").zip(value("api-access-key")).context("no user in it")?;
    let here = [
        ("10.20.0.5", Here::Controller(0)),
        ("/etc/slurm/vipu", Here::Folder(site.folder.path().into())),
        ("/run/slurm-vipu", Here::Steps),
        ("ipu-pod64-001", Here::Node(1)),
    ];
    site.with_user(user, key)
        .delivery(Delivery::Node)
        .example(&SECURE, &here)
        .run(|cluster| runs_on(cluster, "pod64", 16, 0).map(drop))
}
