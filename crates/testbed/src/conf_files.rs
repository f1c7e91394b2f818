//! The configuration files of a cluster, as a site would write them.

use std::{fs, os::unix::fs::symlink, path::Path};

use anyhow::{Context, Result};
use slurm_release::Series;
use vipu_types::Delivery;

use crate::{
    Layout, Place,
    cluster::{accounting, plugin_files},
    programs,
    settings::{OwnConf, Settings},
};

#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    /// The port of slurmdbd, if there is one.
    pub(crate) slurmdbd: Option<u16>,
    pub(crate) slurmctld: u16,
    pub(crate) first_slurmd: u16,
    pub(crate) vipu: Vec<u16>,
}

impl Addresses {
    pub(crate) fn api_host(&self, numbers: &[usize]) -> String {
        let names: Vec<_> =
            numbers.iter().map(|&number| format!("127.0.0.1:{}", self.vipu[number])).collect();
        format!("ApiHost={}", names.join(","))
    }

    /// The text with the name of each controller in place of its number, as in `{0}`.
    fn with_names(&self, text: &str) -> String {
        let name = |text: String, (number, port): (usize, &u16)| {
            text.replace(&format!("{{{number}}}"), &format!("127.0.0.1:{port}"))
        };
        self.vipu.iter().enumerate().fold(text.to_owned(), name)
    }
}

/// The last series that knows `other_cons_tres`, and the last that needs a cgroup plugin.
const LAST_WITH_OTHER: Series = Series::new(23, 11);

/// The host names of slurmctld and its backup. As addresses they need no name service.
pub(crate) const CONTROLLERS: [&str; 2] = ["127.0.0.1", "127.0.0.2"];

/// The name of the backup's pid file and logs.
pub(crate) const BACKUP: &str = "slurmctld-backup";

pub(crate) const SLURM_CONF: &str = "slurm.conf";

pub(crate) const BACKUP_CONF: &str = "slurm-backup.conf";

/// The slurm.conf of nodes with a plugin folder of their own.
pub(crate) const NODES_CONF: &str = "slurm-nodes.conf";

const PLUGSTACK_CONF: &str = "plugstack.conf";

const NODES_PLUGSTACK_CONF: &str = "plugstack-nodes.conf";

/// The file that slurm.conf includes, with the lines that a site adds for slurm-vipu, or those of stock Slurm.
const INCLUDED_CONF: &str = "v-ipu-plugin.conf";

/// The name of the cluster: that of its folder, as Slurm allows it.
pub(crate) fn cluster_name(layout: &Layout) -> String {
    layout.root().file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

pub(crate) fn node_name(index: u16) -> String {
    format!("ipu-pod64-{:03}", index + 1)
}

pub(crate) fn write(layout: &Layout, settings: &Settings, at: &Addresses) -> Result<()> {
    let write = |name: &str, text: &str| {
        let path = layout.conf(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let series = programs::slurm_version()?.series();
    // This keeps slurmd from looking for cgroups, which a container may not have. Nothing here constrains jobs.
    let no_cgroups = if series <= LAST_WITH_OTHER { "cgroup/v1" } else { "disabled" };
    write("cgroup.conf", &format!("CgroupPlugin={no_cgroups}\n"))?;
    let mut slurm_conf = slurm_conf(layout, settings, at)?;
    if let Some(port) = at.slurmdbd {
        let lines: Vec<_> = accounting::slurm_conf(layout, port).lines().map(str::to_owned).collect();
        slurm_conf = without(&slurm_conf, &lines) + &text_of(&lines);
    }
    let slurm_conf = without(&slurm_conf, &settings.slurm_conf) + &text_of(&settings.slurm_conf);
    // With slurmdbd, Slurm 22.05 now and then records no ReqTRES of a job that begins with its submit.
    let slurm_conf = if at.slurmdbd.is_none() { without_delay(&slurm_conf) } else { slurm_conf };
    write(SLURM_CONF, &slurm_conf)?;
    let with = |own: &[String]| without(&slurm_conf, own) + &text_of(own);
    if settings.backup {
        write(BACKUP_CONF, &with(&lines_of_backup(layout, settings)?))?;
    }
    if settings.apart.contains_key(&Place::Nodes) {
        let plugstack = format!("PlugStackConfig={}", layout.conf(NODES_PLUGSTACK_CONF).display());
        write(NODES_CONF, &with(&[plugin_dir(&layout.plugins_of(Place::Nodes))?, plugstack]))?;
        write(NODES_PLUGSTACK_CONF, &plugstack_conf(layout, settings, &layout.plugins_of(Place::Nodes)))?;
    }
    for (name, text) in &settings.files {
        write(name, text)?;
    }
    if !settings.plugin {
        // The same form as with the plugins, so that comparisons measure the plugins alone.
        fs::create_dir_all(layout.plugins())?;
        let lines =
            format!("SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n{}", node_lines(settings, at));
        write(INCLUDED_CONF, &without(&lines, &settings.slurm_conf))?;
        return write(PLUGSTACK_CONF, "");
    }
    plugin_files::install_all(layout, settings)?;
    if let Some(site) = &settings.site {
        let mut files = site.files(layout, at)?;
        let lines = files.remove("slurm.conf").unwrap_or_default();
        write(INCLUDED_CONF, &without(&lines, &settings.slurm_conf))?;
        return files.iter().try_for_each(|(name, text)| write(name, text));
    }
    write(INCLUDED_CONF, &without(&plugin_conf(settings, at, series), &settings.slurm_conf))?;
    write(PLUGSTACK_CONF, &plugstack_conf(layout, settings, &layout.plugins()))?;
    symlink("vipu.conf", layout.conf("pod64.conf"))?;
    for OwnConf { model, listed, lines } in &settings.models {
        write(&format!("{model}.conf"), &vipu_conf(layout, settings.delivery, at, listed, lines))?;
    }
    match &settings.vipu_conf {
        Some(lines) => write("vipu.conf", &vipu_conf(layout, settings.delivery, at, &settings.listed, lines)),
        None => Ok(()),
    }
}

/// A working vipu.conf with the controllers of these numbers. `lines` follow the required keys, and replace
/// lines of the same key.
pub(crate) fn vipu_conf(
    layout: &Layout,
    delivery: Delivery,
    at: &Addresses,
    numbers: &[usize],
    lines: &[String],
) -> String {
    let delivery = match delivery {
        Delivery::File => format!("IpuofDir={}", layout.ipuof().display()),
        Delivery::Api | Delivery::Node => format!("Delivery={delivery}"),
    };
    let needed = format!("{}\n{delivery}\nMaxIpusPerJob=64\n", at.api_host(numbers));
    at.with_names(&(without(&needed, lines) + &text_of(lines)))
}

fn plugstack_conf(layout: &Layout, settings: &Settings, plugins: &Path) -> String {
    if !settings.spank_line {
        return "# nothing\n".into();
    }
    let spank = plugins.join("spank_ipuof.so");
    let directory = match settings.delivery {
        Delivery::File => format!("ipuof_dir={}", layout.ipuof().display()),
        Delivery::Api => String::new(),
        Delivery::Node => format!("run_dir={}", layout.steps().display()),
    };
    format!("required {} {directory} {}\n", spank.display(), settings.spank.join(" "))
}

/// The lines of the documented single-Pod64 example that a site puts into a separate file.
fn plugin_conf(settings: &Settings, at: &Addresses, series: Series) -> String {
    let selector = settings.selector;
    let layer = if series <= LAST_WITH_OTHER { "other_cons_tres," } else { "" };
    let own = format!(
        "SelectType=select/{selector}\n\
         SelectTypeParameters={layer}CR_CPU\n\
         PropagateResourceLimitsExcept=MEMLOCK\n\
         JobSubmitPlugins=vipu\n"
    );
    own + &node_lines(settings, at)
}

/// Has Slurm look at new batch jobs at once. It otherwise waits up to three seconds, unless this slurm.conf says how long.
fn without_delay(slurm_conf: &str) -> String {
    const KEY: &str = "SchedulerParameters=";
    if slurm_conf.contains("batch_sched_delay=") {
        return slurm_conf.to_owned();
    }
    let others = slurm_conf.lines().find_map(|line| line.strip_prefix(KEY));
    let line = [others, Some("batch_sched_delay=0")].into_iter().flatten().collect::<Vec<_>>().join(",");
    let line = [format!("{KEY}{line}")];
    without(slurm_conf, &line) + &text_of(&line)
}

/// slurm.conf. Slurm keeps ended jobs for a day, because the invariant checker looks for each job that was
/// submitted. They count towards MaxJobCount.
fn slurm_conf(layout: &Layout, settings: &Settings, at: &Addresses) -> Result<String> {
    let dir = layout.root().display();
    let plugin_dir = plugin_dir(&layout.plugins())?;
    let controllers = controllers(settings);
    let port = at.slurmctld;
    let cpus = settings.cpus;
    let memory = settings.memory.map(|megabytes| format!(" RealMemory={megabytes}")).unwrap_or_default();
    let name = cluster_name(layout);
    Ok(format!(
        "ClusterName={name}\n\
         {controllers}\
         SlurmctldPort={port}\n\
         SlurmUser=slurm\n\
         SlurmdUser=root\n\
         AuthType=auth/munge\n\
         AuthInfo=socket={dir}/munge/socket\n\
         CredType=cred/munge\n\
         {plugin_dir}\n\
         StateSaveLocation={dir}/state\n\
         SlurmdSpoolDir={dir}/spool/%n\n\
         SlurmctldPidFile={dir}/run/slurmctld.pid\n\
         SlurmdPidFile={dir}/run/%n.pid\n\
         SlurmctldLogFile={dir}/log/slurmctld.log\n\
         SlurmdLogFile={dir}/log/%n.log\n\
         SlurmctldDebug=debug\n\
         SlurmdDebug=debug\n\
         LogTimeFormat=iso8601_ms\n\
         ProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\n\
         MailProg=/bin/true\n\
         MpiDefault=none\n\
         ReturnToService=2\n\
         SlurmdParameters=config_overrides\n\
         KillWait=5\n\
         MinJobAge=86400\n\
         NodeName=DEFAULT CPUs={cpus}{memory}\n\
         Include {INCLUDED_CONF}\n"
    ))
}

/// The lines for slurmctld, alone or with a backup on the same port of another address. Each of the two knows
/// itself by its host name.
fn controllers(settings: &Settings) -> String {
    if !settings.backup {
        return "SlurmctldHost=localhost(127.0.0.1)\n".into();
    }
    // slurmctld beats its heart four times in SlurmctldTimeout, with whole seconds between: below 4 s it
    // would not pause.
    let [primary, backup] = CONTROLLERS;
    format!(
        "SlurmctldHost={primary}\n\
         SlurmctldHost={backup}\n\
         SlurmctldTimeout=4\n\
         CommunicationParameters=NoCtldInAddrAny\n"
    )
}

/// The line that names the folder of our plugins and that of Slurm's.
fn plugin_dir(own: &Path) -> Result<String> {
    Ok(format!("PluginDir={}:{}", own.display(), programs::stock_plugins()?.display()))
}

/// The lines of the backup's slurm.conf that differ. Two slurmctld of one machine cannot share their files: the newer
/// one ends the process that its pid file names.
fn lines_of_backup(layout: &Layout, settings: &Settings) -> Result<Vec<String>> {
    let dir = layout.root().display();
    let mut lines = vec![
        format!("SlurmctldPidFile={dir}/run/{BACKUP}.pid"),
        format!("SlurmctldLogFile={dir}/log/{BACKUP}.log"),
    ];
    if settings.apart.contains_key(&Place::Backup) {
        lines.push(plugin_dir(&layout.plugins_of(Place::Backup))?);
    }
    Ok(lines)
}

fn node_lines(settings: &Settings, at: &Addresses) -> String {
    if let Some(cloud) = &settings.cloud {
        return cloud.clone();
    }
    let mut types = vec!["vipu"];
    let more = settings.gres.iter().filter_map(|gres| gres.split(':').next());
    types.extend(more.filter(|name| *name != "vipu"));
    let mut gres = vec!["vipu:pod64:no_consume:64"];
    gres.extend(settings.gres.iter().map(String::as_str));
    let gres = gres.join(",");
    let first = at.first_slurmd;
    let node = |names: String, ports: String, gres: &str| {
        format!("NodeName={names} NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports} Gres={gres}\n")
    };
    let one = |index: u16| {
        let own = settings.node_gres.get(&(index + 1)).unwrap_or(&gres);
        node(node_name(index), (first + index).to_string(), own)
    };
    let nodes = match settings.nodes {
        n if n == 1 || !settings.node_gres.is_empty() => (0..n).map(one).collect(),
        n => node(format!("ipu-pod64-[001-{n:03}]"), format!("[{first}-{}]", first + n - 1), &gres),
    };
    format!("GresTypes={}\n{nodes}PartitionName=v-ipu Nodes=ALL Default=YES State=UP\n", types.join(","))
}

fn text_of(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// `text` without the lines that `others` replace.
fn without(text: &str, others: &[String]) -> String {
    let key = |line: &str| line.split('=').next().unwrap_or_default().trim().to_lowercase();
    let replaced: Vec<_> = others.iter().map(|line| key(line)).collect();
    // A file may have many lines of these keys.
    let repeatable = |key: &str| ["nodename", "partitionname"].contains(&key);
    let kept = text.lines().filter(|line| repeatable(&key(line)) || !replaced.contains(&key(line)));
    kept.map(|line| format!("{line}\n")).collect()
}
