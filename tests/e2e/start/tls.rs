//! A controller that serves over TLS only, asks for client certificates, and is in secure mode.

use std::{fs, os::unix::fs::chown};

use anyhow::{Result, ensure};
use mock_vipu::{Authority, Signed};
use tempfile::TempDir;
use testbed::{Account, Cluster, Settings, main_job, permit};

use crate::jobs::{logged, waits};
use crate::quick;

/// The secret that must not be in any log, job or state.
const ACCESS_KEY: &str = "Sesame-Open-42";

/// The certificates and secrets of a site.
pub(super) struct Site {
    pub(super) folder: TempDir,
    slurm: Account,
    authority: Authority,
}

impl Site {
    /// Makes a site whose controller has this name in its certificate.
    pub(super) fn new(controller: &str) -> Result<Self> {
        let site = Self {
            folder: tempfile::tempdir()?,
            slurm: Account::named("slurm")?,
            authority: Authority::new("site")?,
        };
        permit(site.folder.path(), 0o755)?;
        site.put("ca.pem", &site.authority.pem(), 0o644)?;
        let Signed { certificate, key } = site.authority.sign(controller)?;
        site.put("server.pem", &certificate, 0o644)?;
        site.put("server.key", &key, 0o600)?;
        site.identity(&site.authority.sign("slurm")?)?;
        Ok(site)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Writes a file that belongs to the Slurm user.
    pub(super) fn put(&self, name: &str, text: &str, mode: u32) -> Result<()> {
        let path = self.folder.path().join(name);
        fs::write(&path, text)?;
        chown(&path, Some(self.slurm.uid), Some(self.slurm.gid))?;
        permit(&path, mode)
    }

    fn identity(&self, own: &Signed) -> Result<()> {
        self.put("slurm.pem", &own.certificate, 0o644)?;
        self.put("slurm.key", &own.key, 0o600)
    }

    fn access(&self, key: &str, mode: u32) -> Result<()> {
        self.put("access", &format!("api-user-id=slurm\napi-access-key={key}\n"), mode)
    }

    /// A cluster whose controller admits this user with this key.
    pub(super) fn with_user(&self, user: &str, key: &str) -> Settings {
        let option = |name: &str, file: &str| format!("--{name}={}", self.path(file));
        let mock = [
            option("tls-cert", "server.pem"),
            option("tls-key", "server.key"),
            option("tls-client-ca", "ca.pem"),
            format!("--user={user}:{key}"),
        ];
        quick().mock(&mock.each_ref().map(String::as_str))
    }

    /// A cluster with this controller, and a vipu.conf for it.
    fn settings(&self) -> Settings {
        let conf = [("Ca", "ca.pem"), ("Cert", "slurm.pem"), ("Key", "slurm.key")];
        let conf = conf.map(|(key, file)| format!("ApiTls{key}={}", self.path(file)));
        let settings = self.with_user("slurm", ACCESS_KEY);
        let settings = conf.iter().fold(settings, |settings, line| settings.vipu_conf(line));
        settings
            .vipu_conf("ApiTlsServerName=vipu-controller")
            .vipu_conf(&format!("ApiAccessFile={}", self.path("access")))
            .slurm_conf("SchedulerParameters=bf_interval=1,sched_interval=1")
    }
}

#[test]
fn job_over_tls() -> Result<()> {
    let site = Site::new("vipu-controller")?;
    site.access(ACCESS_KEY, 0o640)?;
    site.settings().run(|cluster| {
        let job = cluster.sbatch(&format!("{}\nenv", main_job::SHOW), &["--gres=vipu:pod64:4"])?;
        let says = |words: &str| {
            waits(cluster, job, words)?;
            logged(cluster, words)
        };
        let access = site.path("access");
        says(&format!("{access} (ApiAccessFile): group or others may open it (mode 0640), so it is not used: chmod 600 {access}"))?;
        site.access("Sesame-Shut", 0o600)?;
        says(&format!("mend the user id or access key in {access} (ApiAccessFile)"))?;
        site.access(ACCESS_KEY, 0o600)?;
        main_job::batch_ended(cluster, job, 4)?;
        let told = cluster.slurmctld_log().matches("mend the user id or access key").count();
        ensure!(told == 1, "the log tells {told} times of the same trouble");
        renewed(cluster, &site)?;
        nobody_learns(cluster, &cluster.job_output(job))
    })
}

/// Checks that slurmctld names an expired certificate, and uses its successor without a restart.
fn renewed(cluster: &Cluster, site: &Site) -> Result<()> {
    site.identity(&site.authority.sign_expired("slurm")?)?;
    cluster.mock().refuse()?;
    cluster.mock().clear()?;
    let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:4"])?;
    let certificate = site.path("slurm.pem");
    logged(cluster, &format!("the client certificate {certificate} (ApiTlsCert): it has expired, renew it"))?;
    site.identity(&site.authority.sign("slurm")?)?;
    main_job::batch_ended(cluster, job, 4).map(drop)
}

fn nobody_learns(cluster: &Cluster, output: &str) -> Result<()> {
    // slurmctld replaces the files of its state while it runs.
    let state = fs::read_dir(cluster.layout().state())?
        .map(|file| Ok(fs::read(file?.path()).unwrap_or_default()))
        .collect::<Result<Vec<_>>>()?
        .concat();
    for (place, text) in [
        ("the job's output", output),
        ("scontrol show job", &cluster.scontrol(&["--details", "show", "job"])?),
        ("slurmctld's log", &cluster.slurmctld_log()),
        ("StateSaveLocation", &String::from_utf8_lossy(&state)),
    ] {
        ensure!(!text.is_empty(), "{place} is empty");
        for secret in [ACCESS_KEY, "Sesame-Shut", "PRIVATE KEY"] {
            ensure!(!text.contains(secret), "{place} has {secret}");
        }
    }
    Ok(())
}
