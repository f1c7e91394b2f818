//! The daemons of a cluster: the accounts that they run as, and the command line of each.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nix::unistd::User;

use crate::{
    Layout, Place,
    cluster::folder_layout::permit,
    conf_files::{BACKUP, BACKUP_CONF, CONTROLLERS, NODES_CONF, SLURM_CONF, node_name},
    process::{Lead, Leashed, Start},
    programs,
    settings::Settings,
};

/// An account of this machine. The testbed never creates one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

impl Account {
    pub fn named(name: &str) -> Result<Self> {
        let user = User::from_name(name)?.with_context(|| format!("this machine has no user '{name}'"))?;
        Ok(Self { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() })
    }

    /// The account of all daemons but slurmctld, and by default of jobs.
    pub fn root() -> Result<Self> {
        Self::named("root")
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Daemon {
    program: &'static str,
    args: Vec<String>,
    account: Account,
    hostname: Option<&'static str>,
    disk: Option<PathBuf>,
    /// The name of its slurm.conf.
    conf: &'static str,
    log: String,
}

impl Daemon {
    fn new(program: &'static str, args: &[&str], account: &Account) -> Self {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        let (account, log) = (account.clone(), program.into());
        Self { program, args, account, hostname: None, disk: None, conf: SLURM_CONF, log }
    }

    pub(crate) fn start(&self, lead: &Lead, layout: &Layout) -> Result<Leashed> {
        let start = Start {
            program: &programs::find(self.program)?,
            args: &self.args,
            account: &self.account,
            hostname: self.hostname,
            disk: self.disk.as_deref(),
            environment: &environment(layout, &self.account, self.conf),
            directory: layout.root(),
        };
        lead.start(&start, Path::new("/dev/null"), &layout.logs().join(format!("{}.stderr", self.log)))
    }
}

pub(crate) fn environment(layout: &Layout, account: &Account, conf: &str) -> Vec<(String, String)> {
    let path = std::env::var("PATH").unwrap_or_default();
    let conf = layout.conf(conf).display().to_string();
    let home = layout.jobs().display().to_string();
    let failpoints = layout.failpoints();
    let failpoints = failpoints.is_dir().then(|| ("VIPU_FAILPOINTS", failpoints.display().to_string()));
    let database = layout.database();
    let database =
        database.is_dir().then(|| ("MYSQL_UNIX_PORT", layout.database_socket().display().to_string()));
    let pairs = [
        ("PATH", format!("{path}:/usr/bin:/bin:/usr/sbin:/sbin")),
        ("SLURM_CONF", conf),
        ("HOME", home),
        ("USER", account.name.clone()),
        ("LANG", "C.UTF-8".into()),
    ];
    pairs.into_iter().chain(failpoints).chain(database).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Writes the munge key, which only munged of this cluster knows.
pub(crate) fn write_munge_key(layout: &Layout) -> Result<()> {
    let mut key = [0_u8; 128];
    std::io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut key)?;
    let path = munge_key(layout);
    fs::write(&path, key)?;
    permit(&path, 0o400)
}

fn munge_key(layout: &Layout) -> PathBuf {
    layout.root().join("munge/key")
}

pub(crate) fn munged(layout: &Layout, account: &Account) -> Daemon {
    let option = |name: &str, path: &Path| format!("--{name}={}", path.display());
    let dir = layout.root().join("munge");
    let args = [
        "--foreground".to_owned(),
        option("key-file", &munge_key(layout)),
        option("socket", &layout.munge_socket()),
        option("pid-file", &dir.join("pid")),
        option("log-file", &dir.join("log")),
        option("seed-file", &dir.join("seed")),
    ];
    Daemon::new("munged", &args.each_ref().map(String::as_str), account)
}

pub(crate) fn slurmctld(account: &Account, settings: &Settings, options: &[&str]) -> Daemon {
    let hostname = settings.backup.then_some(CONTROLLERS[0]);
    Daemon { hostname, ..Daemon::new("slurmctld", &[&["-D"], options].concat(), account) }
}

/// MariaDB for slurmdbd. It is reached by its socket only, and lets each user of the socket in.
pub(crate) fn mariadbd(account: &Account, layout: &Layout) -> Daemon {
    let option = |name: &str, path: &Path| format!("--{name}={}", path.display());
    let args = [
        "--no-defaults".to_owned(),
        "--skip-networking".to_owned(),
        "--skip-grant-tables".to_owned(),
        option("datadir", &layout.database()),
        option("socket", &layout.database_socket()),
        option("pid-file", &layout.root().join("run/database.pid")),
        option("init-file", &layout.conf("database.sql")),
        // A MariaDB that starts removes the temporary tables of all others from /tmp.
        option("tmpdir", &layout.root().join("run")),
        // With ON, MariaDB 11.8's default, a write that conflicts with another transaction ends slurmdbd. An
        // early 10.11 does not know the option.
        "--loose-innodb-snapshot-isolation=OFF".to_owned(),
        // Small and quick: nothing has to survive the machine.
        "--innodb-buffer-pool-size=32M".to_owned(),
        "--innodb-log-file-size=4M".to_owned(),
        "--innodb-flush-log-at-trx-commit=0".to_owned(),
    ];
    Daemon::new("mariadbd", &args.each_ref().map(String::as_str), account)
}

pub(crate) fn slurmdbd(account: &Account) -> Daemon {
    Daemon::new("slurmdbd", &["-D"], account)
}

/// The process that holds a small disk of `account` at this folder.
pub(crate) fn disk(account: &Account, folder: PathBuf) -> Daemon {
    let disk = Some(folder);
    Daemon { disk, ..Daemon::new("sleep", &["infinity"], account) }
}

pub(crate) fn backup(account: &Account) -> Daemon {
    let hostname = Some(CONTROLLERS[1]);
    let daemon = Daemon::new("slurmctld", &["-D"], account);
    Daemon { hostname, conf: BACKUP_CONF, log: BACKUP.into(), ..daemon }
}

/// The slurmd of a node. It starts again after an orderly end, as by `systemctl restart`, and after SIGKILL: job
/// steps are not its children, and go on.
pub(crate) fn slurmd(account: &Account, settings: &Settings, index: u16, options: &[&str]) -> Result<Daemon> {
    let name = node_name(index);
    let slurmd = programs::find("slurmd")?.display().to_string();
    let args =
        [&["-c", "while \"$0\" \"$@\" || [ $? = 137 ]; do :; done", &slurmd, "-D", "-N", &name], options]
            .concat();
    let conf = if settings.apart.contains_key(&Place::Nodes) { NODES_CONF } else { SLURM_CONF };
    Ok(Daemon { conf, log: name.clone(), ..Daemon::new("sh", &args, account) })
}

/// The mock controller of this number, counted from 0.
pub(crate) fn mock(account: &Account, number: usize, args: &[&str]) -> Daemon {
    let program = "mock-vipu-server";
    let log = if number == 0 { program.to_owned() } else { format!("{program}-{number}") };
    Daemon { log, ..Daemon::new(program, args, account) }
}
