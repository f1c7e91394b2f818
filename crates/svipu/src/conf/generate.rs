//! `svipu conf generate`: the files of a new site, from its controllers.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use slurm_conf::HostList;
use tokio::runtime::Builder;
use vipu_client::{Client, Endpoint};
use vipu_conf::Settings;
use vipu_types::{ControllerName, ModelName, Words, words};

use crate::arguments::options::Generate;
use crate::error::Failure;
use crate::safe;

/// Asks the controllers, and prints or writes the files. A model with a name has a file of its own.
pub(crate) fn generate(options: &Generate, model: Option<&str>) -> Result<String, Failure> {
    HostList::parse(&options.nodes).map_err(|why| words!("--nodes: {why}"))?;
    let own = model.map(ModelName::new).transpose().map_err(Words::of)?;
    let keys = keys(options)?;
    let pods = ask(&keys)?;
    let name = own.as_ref().map_or_else(|| format!("pod{}", pods.largest), ToString::to_string);
    let files = Files::new(options, own.as_ref(), &name, &keys, &pods);
    match &options.output {
        Some(folder) => files.write(folder),
        None => Ok(files.text()),
    }
}

/// The lines of the model's file that the options give.
fn keys(options: &Generate) -> Result<String, Failure> {
    let hosts = options.hosts.join(",");
    let given = [
        ("ApiHost", Some(&hosts)),
        ("IpuofDir", Some(&options.ipuof_dir)),
        ("ApiTlsCa", options.tls_ca.as_ref()),
        ("ApiAccessFile", options.access_file.as_ref()),
    ];
    plain("--nodes", &options.nodes)?;
    let mut lines = String::new();
    for (key, value) in given.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        plain(key, value)?;
        lines += &format!("{key}={value}\n");
    }
    Ok(lines)
}

/// Refuses a value that is not the same in all files. plugstack.conf, for example, has no quotes.
fn plain(key: &str, value: &str) -> Result<(), Failure> {
    let is_special = |c: char| c.is_whitespace() || c.is_control() || "\"#\\".contains(c);
    if value.is_empty() || value.contains(is_special) {
        return Err(words!("{key}: '{value}' is empty, or has a blank, a quote, a backslash or #").into());
    }
    Ok(())
}

/// The longest time of one call. Somebody waits for the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The Pods of the model.
struct Pods {
    /// A line about each.
    lines: Vec<String>,
    /// The IPUs of the largest one.
    largest: usize,
}

/// Asks the controllers of a file with these lines.
fn ask(keys: &str) -> Result<Pods, Failure> {
    let settings = Settings::parse(keys, Path::new("")).map_err(|why| {
        let reasons: Vec<_> = why.problems.iter().map(|problem| problem.reason.to_string()).collect();
        Words::from(reasons.join("; "))
    })?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| words!("cannot call a controller: {why}"))?;
    let mut pods = Pods { lines: Vec::new(), largest: 0 };
    for controller in &settings.controllers {
        let (ipus, line) = runtime.block_on(pod(controller, &settings))?;
        if ipus == 0 {
            return Err(words!("controller {controller} has no IPUs").into());
        }
        pods.lines.push(line);
        pods.largest = pods.largest.max(ipus);
    }
    Ok(pods)
}

/// The number of IPUs of a controller, and the line about it.
async fn pod(controller: &ControllerName, settings: &Settings) -> Result<(usize, String), Words> {
    let plain = Endpoint::plain(controller.host(), controller.port(), PATIENCE);
    let client = Client::new(Endpoint { tls: settings.tls(), access: settings.access(), ..plain });
    let client = client.map_err(Words::of)?;
    let ipus = client.list_ipus(&[]).await.map_err(Words::of)?;
    let partitions = client.list_partitions(None).await.map_err(Words::of)?;
    let agents: BTreeSet<_> = ipus.iter().map(|ipu| &ipu.agent).collect();
    let faulty = match ipus.iter().filter(|ipu| ipu.fault().is_some()).count() {
        0 => String::new(),
        faulty => format!(" ({faulty} faulty)"),
    };
    let (ipus, agents, held) = (ipus.len(), agents.len(), partitions.len());
    Ok((ipus, format!("{controller}: IPUs: {ipus}{faulty}, agents: {agents}, partitions now: {held}")))
}

/// The files of a site, each with its name.
struct Files([(String, String); 3]);

impl Files {
    /// The files of the model `name`. It has a file of its own if the user gave the name.
    fn new(options: &Generate, own: Option<&ModelName>, name: &str, keys: &str, pods: &Pods) -> Self {
        let (file, models) = match own {
            Some(model) => (format!("{model}.conf"), format!("the model {model}")),
            None => ("vipu.conf".to_owned(), "all models".to_owned()),
        };
        let seen: String = pods.lines.iter().map(|line| format!("# {line}\n")).collect();
        // A job gets a power of two at most.
        let most = 1_usize << pods.largest.ilog2();
        let conf = format!(
            "# {file}, beside slurm.conf on the slurmctld hosts: the settings of {models}.\n\
             {seen}{keys}MaxIpusPerJob={most}\n"
        );
        let slurm = format!(
            "# Lines of slurm.conf. Replace SelectType, keep your SelectTypeParameters, add vipu to a list that is there\n\
             # (GresTypes=gpu,vipu), and add Gres to the lines of your nodes.\n\
             SelectType=select/vipu\n\
             SelectTypeParameters=CR_CPU\n\
             GresTypes=vipu\n\
             JobSubmitPlugins=vipu\n\
             PropagateResourceLimitsExcept=MEMLOCK\n\
             # The nodes that reach the Pods. Each node offers a whole Pod.\n\
             NodeName={nodes} Gres=vipu:{name}:no_consume:{largest}\n\
             # If jobs with IPUs are to have a Slurm partition of their own.\n\
             PartitionName=ipu Nodes={nodes}\n",
            nodes = options.nodes,
            largest = pods.largest,
        );
        let plugstack = format!(
            "# Add this line to plugstack.conf on nodes and submit hosts.\n\
             required spank_ipuof.so ipuof_dir={}\n",
            options.ipuof_dir
        );
        Self([(file, conf), ("slurm.conf.add".into(), slurm), ("plugstack.conf.add".into(), plugstack)])
    }

    /// All texts, for the terminal.
    fn text(&self) -> String {
        self.0.each_ref().map(|(_, text)| text.as_str()).join("\n")
    }

    /// Writes the files, and tells their paths.
    fn write(&self, folder: &Path) -> Result<String, Failure> {
        let failed = |path: &Path, why| words!("cannot write {}: {why}", path.display());
        fs::create_dir_all(folder).map_err(|why| failed(folder, why))?;
        let paths = self.0.each_ref().map(|(name, _)| folder.join(name));
        // Either all files are written or, in most cases, none.
        if let Some(path) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
            return Err(words!("{} exists: give another --output", path.display()).into());
        }
        let mut written = String::new();
        for (path, (_, text)) in paths.iter().zip(&self.0) {
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|why| failed(path, why))?;
            written += &format!("wrote {}\n", safe::cut(&path.display().to_string(), safe::LINE));
        }
        Ok(written)
    }
}
