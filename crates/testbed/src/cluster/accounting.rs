//! slurmdbd and its database: MariaDB on a socket in the cluster's folder, as SlurmUser.

use std::{fs, net::TcpStream, os::unix::fs::chown, path::PathBuf, process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::{Account, Cluster, Layout, OneHost, daemon, folder_layout::permit, locked, logs::Logs};
use crate::{
    conf_files::{SLURM_CONF, cluster_name},
    process::{Lead, Leashed},
    programs, wait_until,
};

const START_LIMIT: Duration = Duration::from_secs(120);

/// The statements that make MariaDB's own tables, in Debian's releases. slurmdbd needs the table of stored
/// procedures.
const SYSTEM_TABLES: [&str; 3] = [
    "/usr/share/mysql/mysql_system_tables.sql",
    "/usr/share/mariadb/mysql_system_tables.sql",
    "/usr/share/mariadb/mariadb_system_tables.sql",
];

/// slurmdbd's database. MariaDB makes it before slurmdbd starts. If slurmdbd finds none, it makes the database
/// itself, with the handle whose connection failed. libmariadb of MariaDB 11.8 refuses every result of a handle
/// that connects again after a failure (error 5027).
const DATABASE: &str = "slurm_acct";

/// slurmdbd and MariaDB.
#[derive(Debug)]
pub(crate) struct Accounting {
    // Fields drop in this order.
    pub(crate) slurmdbd: Leashed,
    pub(crate) database: Leashed,
}

impl Accounting {
    /// Starts both, and waits until slurmdbd listens at this port. The error of a failure has the daemons' logs,
    /// which go with the cluster's folder.
    pub(crate) fn start(lead: &Lead, layout: &Layout, slurm: &Account, port: u16) -> Result<Self> {
        let started = Self::start_both(lead, layout, slurm, port);
        started.with_context(|| format!("no accounting\n{}", Logs::new(layout).tails()))
    }

    fn start_both(lead: &Lead, layout: &Layout, slurm: &Account, port: u16) -> Result<Self> {
        let folder = layout.database();
        fs::create_dir(&folder)?;
        chown(&folder, Some(slurm.uid), Some(slurm.gid))?;
        let tables = SYSTEM_TABLES.into_iter().find_map(|file| fs::read_to_string(file).ok());
        let tables = tables.with_context(|| format!("there is none of {}", SYSTEM_TABLES.join(", ")))?;
        let statements = format!(
            "create database if not exists mysql;\nuse mysql;\n{tables}\n\
             create database if not exists {DATABASE};\n"
        );
        fs::write(layout.conf("database.sql"), statements)?;
        let mut database = daemon::mariadbd(slurm, layout).start(lead, layout)?;
        let socket = layout.database_socket();
        wait_until("MariaDB's socket", START_LIMIT, || {
            ensure!(database.ended()?.is_none(), "MariaDB has ended");
            Ok(socket.exists())
        })?;
        let conf = layout.conf("slurmdbd.conf");
        fs::write(&conf, slurmdbd_conf(layout, port))?;
        // slurmdbd refuses a file that others can read.
        permit(&conf, 0o600)?;
        chown(&conf, Some(slurm.uid), Some(slurm.gid))?;
        let mut slurmdbd = daemon::slurmdbd(slurm).start(lead, layout)?;
        await_slurmdbd(&mut slurmdbd, port)?;
        add_cluster(layout)?;
        Ok(Self { slurmdbd, database })
    }
}

fn await_slurmdbd(slurmdbd: &mut Leashed, port: u16) -> Result<()> {
    wait_until("slurmdbd to listen", START_LIMIT, || {
        ensure!(slurmdbd.ended()?.is_none(), "slurmdbd has ended");
        Ok(TcpStream::connect(("127.0.0.1", port)).is_ok())
    })
}

/// Makes the cluster's entry before slurmctld starts. If slurmctld makes it, slurmdbd sends changes to a port at
/// which slurmctld does not listen yet, and may send it none later (22.05).
fn add_cluster(layout: &Layout) -> Result<()> {
    let environment = daemon::environment(layout, &Account::root()?, SLURM_CONF);
    let mut sacctmgr = Command::new(programs::find("sacctmgr")?);
    sacctmgr.args(["-i", "add", "cluster", &cluster_name(layout)]).env_clear().envs(environment);
    let output = sacctmgr.output()?;
    ensure!(output.status.success(), "sacctmgr add cluster: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// The lines of slurm.conf. AuthInfo does not count for slurmdbd: the socket of munge is its "password".
pub(crate) fn slurm_conf(layout: &Layout, port: u16) -> String {
    let munge = layout.munge_socket();
    format!(
        "AccountingStorageType=accounting_storage/slurmdbd\n\
         AccountingStorageHost=localhost\n\
         AccountingStoragePort={port}\n\
         AccountingStoragePass={}\n\
         AccountingStorageTRES=gres/vipu,gres/vipu:pod64\n",
        munge.display()
    )
}

fn slurmdbd_conf(layout: &Layout, port: u16) -> String {
    let dir = layout.root().display();
    format!(
        "AuthType=auth/munge\n\
         AuthInfo=socket={dir}/munge/socket\n\
         DbdHost=localhost\n\
         DbdPort={port}\n\
         SlurmUser=slurm\n\
         StorageType=accounting_storage/mysql\n\
         StorageHost=localhost\n\
         StorageLoc={DATABASE}\n\
         LogFile={dir}/log/slurmdbd.log\n\
         PidFile={dir}/run/slurmdbd.pid\n"
    )
}

impl Cluster {
    pub fn kill_slurmdbd(&self) -> Result<()> {
        self.with_slurmdbd(|slurmdbd, _| {
            slurmdbd.signal(Signal::KILL)?;
            wait_until("the end of slurmdbd", START_LIMIT, || Ok(slurmdbd.ended()?.is_some()))
        })
    }

    /// Starts slurmdbd again, and waits until it listens. slurmctld finds it some seconds later.
    pub fn start_slurmdbd(&self) -> Result<()> {
        let OneHost { slurm, lead, layout, .. } = &self.hosts;
        self.with_slurmdbd(|slurmdbd, port| {
            *slurmdbd = daemon::slurmdbd(slurm).start(lead, layout)?;
            await_slurmdbd(slurmdbd, port)
        })
    }

    fn with_slurmdbd(&self, change: impl FnOnce(&mut Leashed, u16) -> Result<()>) -> Result<()> {
        let mut accounting = locked(&self.hosts.accounting);
        let daemons = accounting.as_mut().context("the cluster has no accounting")?;
        change(&mut daemons.slurmdbd, self.hosts.at.slurmdbd.context("slurmdbd has no port")?)
    }

    /// Puts the jobs in the database and the cluster's start back by this time. slurmdbd adds up whole hours that
    /// have passed, in which the cluster was there.
    pub fn put_records_back(&self, time: Duration) -> Result<()> {
        let seconds = time.as_secs();
        let earlier = |table: &str, columns: &[&str]| {
            let columns: Vec<_> = columns
                .iter()
                .map(|it| format!("time_{it} = if(time_{it}, time_{it} - {seconds}, 0)"))
                .collect();
            format!("update `{}_{table}` set {};", cluster_name(self.layout()), columns.join(", "))
        };
        let jobs = earlier("job_table", &["submit", "eligible", "start", "end"]);
        let statements = format!("--execute={jobs} {}", earlier("event_table", &["start", "end"]));
        let socket = format!("--socket={}", self.layout().database_socket().display());
        self.command("mariadb").args(&["--no-defaults", &socket, DATABASE, &statements]).success().map(drop)
    }
}

impl Layout {
    /// The folder of MariaDB's files.
    pub(crate) fn database(&self) -> PathBuf {
        self.root().join("database")
    }

    /// The socket through which slurmdbd finds MariaDB.
    pub(crate) fn database_socket(&self) -> PathBuf {
        self.root().join("run/database.socket")
    }
}
