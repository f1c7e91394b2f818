//! A further login host with files of its own, from which a test removes some.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::{Host, engine::docker, project::Project};
use crate::wait_until;

/// How long it may take to start.
const LIMIT: Duration = Duration::from_secs(60);

/// A login host whose configuration and plugins are copies, to be changed from outside; it goes when this is dropped.
#[derive(Debug)]
pub struct SpareLogin {
    host: Host,
    folder: TempDir,
}

impl SpareLogin {
    pub(super) fn start(project: &Project, name: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (etc, files) = (folder.path().join("etc"), folder.path().join("files"));
        copy_files(&project.built().etc(), &etc)?;
        copy_files(&project.built().files().join("plugins"), &files.join("plugins"))?;
        let mounts = [
            format!("{}:/cluster/etc:ro", etc.display()),
            format!("{}:/opt/vipu:ro", files.display()),
            format!("{}:/cluster/keys:ro", project.own("keys")),
            format!("{}:/ipuof", project.own("ipuof")),
            format!("{}:/home", project.own("home")),
        ];
        let (network, image) = (project.own("default"), project.image());
        let mut words = vec!["run", "--detach", "--init", "--hostname", name];
        words.extend(["--network", &network, "--network-alias", name]);
        words.extend(mounts.iter().flat_map(|mount| ["--volume", mount]));
        words.extend([&image, "login"]);
        let login = Self { host: Host::new(name, docker(&words)?), folder };
        wait_until(&format!("{name} to reach slurmctld"), LIMIT, || {
            ensure!(login.host.runs()?, "it has ended: {}", login.host.log()?);
            Ok(login.host.command("scontrol").args(&["ping"]).output()?.stdout.contains("UP"))
        })?;
        Ok(login)
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Its Slurm configuration, such as `plugstack.conf`.
    #[must_use]
    pub fn conf(&self, name: &str) -> PathBuf {
        self.folder.path().join("etc").join(name)
    }

    /// One of its plugins, such as `select_vipu.so`.
    #[must_use]
    pub fn plugin(&self, name: &str) -> PathBuf {
        self.folder.path().join("files/plugins").join(name)
    }
}

impl Drop for SpareLogin {
    fn drop(&mut self) {
        if let Err(error) = docker(&["rm", "--force", self.host.id()]) {
            eprintln!("{} is still there: {error:#}", self.host.name());
        }
    }
}

/// A new folder with the plain files of another.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    let copy = || {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
        Ok::<_, std::io::Error>(())
    };
    copy().with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}
