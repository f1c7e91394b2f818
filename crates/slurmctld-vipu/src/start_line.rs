//! The line in slurmctld's log after a start, with everything that IPU jobs depend on, and the warnings beside it.

use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::Duration;

use ledger::{ModelFacts, ModelView, PodView, Wait};
use slurm_conf::SlurmConf;
use slurm_host::on_disk::OnDisk;
use slurm_host::plugstack::{self, SPANK_IPUOF};
use slurm_host::running_release::loaded;
use slurm_host::{accounting, conf, stock_selector};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use tracing::{error, info, warn};
use vipu_conf::Layer;
use vipu_types::ModelName;

use crate::plugin::Plugin;
use crate::uncounted;

/// The longest time that the line waits for the first answers of the controllers and for the check of the
/// directories.
const PATIENCE: Duration = Duration::from_secs(8);

/// The time between two looks for these answers.
const POLL: Duration = Duration::from_millis(100);

/// The path of the journal, and the number of partitions that an earlier slurmctld has left in it.
pub(crate) type Opened = (PathBuf, usize);

/// Facts from slurm.conf, which may be read only in callbacks or under Slurm's locks.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// Slurm's release, and the stock selector underneath.
    stock: String,
    /// Slurm's `SLURM_VERSION_NUMBER`.
    release: u32,
    /// slurm.conf.
    file: Option<PathBuf>,
    /// ClusterName.
    pub(crate) cluster: String,
    /// The plugstack.conf of this host.
    plugstack: Option<PathBuf>,
    /// Whether Slurm sends it to nodes that have no configuration of their own.
    is_sent: bool,
    /// The TRES of IPUs that Slurm's accounting counts. None if the site stores no accounting.
    counted: Option<Vec<String>>,
    /// Licenses.
    licenses: String,
}

impl Surroundings {
    /// Reads the facts. Only in a callback that runs under the configuration lock.
    pub(crate) fn read() -> Self {
        let layer = stock_selector::layer(Layer::ConsTres, vipu_conf::layer_of).name();
        let stock =
            loaded().map(|loaded| format!("with Slurm {} over select/{layer}", loaded.release.version));
        Self {
            stock: stock.unwrap_or_default(),
            release: loaded().map_or(0, |loaded| loaded.release.version.0),
            file: conf::file(),
            cluster: conf::cluster_name().unwrap_or_default(),
            plugstack: plugstack::path(),
            is_sent: conf::is_configless(),
            counted: accounting::is_in_use().then(accounting::names_of_ipus),
            licenses: conf::licenses().unwrap_or_default(),
        }
    }
}

/// Writes the line once each controller has answered or failed, or time is up.
pub(crate) async fn write(plugin: Weak<Plugin>, around: Surroundings, journal: Option<Opened>) {
    let until = Instant::now() + PATIENCE;
    let models = loop {
        let Some(models) = plugin.upgrade().map(|plugin| plugin.frontend.ledger().models()) else { return };
        if Instant::now() >= until || !models.iter().any(is_asked_still) {
            break models;
        }
        sleep(POLL).await;
    };
    let Some(plugin) = plugin.upgrade() else { return };
    let with_directory = |model: ModelView| {
        let directory = plugin.frontend.models().ipuof_dir(&model.facts.model);
        (model, directory)
    };
    let described: Vec<_> = models.into_iter().map(with_directory).collect();
    let names: Vec<_> = described.iter().map(|(model, _)| &model.facts.model).collect();
    let models = plugin.frontend.models();
    let warnings = uncounted::warnings(&models, &names, around.counted.as_deref(), &around.licenses);
    drop(plugin);
    info!("{}", line(&around.stock, &described, journal.as_ref()));
    warnings.iter().for_each(|warning| warn!("{warning}"));
    if described.iter().any(|(model, _)| !model.pods.is_empty()) {
        // Fails only at the end of the process.
        let _ = spawn_blocking(move || tell_of_files(&around)).await;
    }
}

fn is_asked_still(model: &ModelView) -> bool {
    model.pods.iter().any(|pod| matches!(pod.trouble, Some(Wait::NoAnswer { .. })))
}

/// The text of the line, for models with their IpuofDir.
fn line(stock: &str, models: &[(ModelView, Option<PathBuf>)], journal: Option<&Opened>) -> String {
    let mut parts = vec![format!("slurm-vipu {} {stock}", env!("CARGO_PKG_VERSION")).trim_end().to_owned()];
    parts.extend(models.iter().map(|(model, directory)| of_model(model, directory.as_deref())));
    if models.is_empty() {
        parts.push("no node has a vipu GRES".into());
    }
    parts.push(match journal {
        Some((path, 1)) => format!("journal {} (1 partition)", path.display()),
        Some((path, entries)) => format!("journal {} ({entries} partitions)", path.display()),
        None => "no journal".into(),
    });
    parts.join("; ")
}

fn of_model(model: &ModelView, directory: Option<&Path>) -> String {
    let ModelView { facts: ModelFacts { model: name, .. }, pods, trouble, .. } = model;
    let mut parts: Vec<_> = pods.iter().map(|pod| of_pod(name, pod)).collect();
    if pods.is_empty() && trouble.is_none() {
        parts.push("no controller".into());
    }
    // The driver has checked the directory before any controller answers.
    match (trouble, directory) {
        (Some(why @ Wait::Trouble { .. }), _) => parts.push(format!("NO JOB CAN START: {}", bare(name, why))),
        (_, Some(path)) if is_asked_still(model) => {
            parts.push(format!("IpuofDir {} not looked at yet", path.display()));
        }
        (_, Some(path)) => parts.push(format!("IpuofDir {} writable", path.display())),
        (_, None) => {}
    }
    format!("model {name}: {}", parts.join(", "))
}

fn of_pod(model: &ModelName, pod: &PodView) -> String {
    let controller = &pod.id.controller;
    match &pod.trouble {
        None if pod.faulty > 0 => {
            format!("controller {controller} answers ({} IPUs, {} of them faulty)", pod.ipus, pod.faulty)
        }
        None => format!("controller {controller} answers ({} IPUs)", pod.ipus),
        Some(Wait::NoAnswer { .. }) => format!("controller {controller} has not answered yet"),
        Some(why) => format!("controller {controller} is away ({})", bare(model, why)),
    }
}

/// A reason without its prefix for squeue.
fn bare(model: &ModelName, why: &Wait) -> String {
    let why = why.to_string();
    why.strip_prefix(&format!("vipu: {model}: ")).unwrap_or(&why).to_owned()
}

fn tell_of_files(around: &Surroundings) {
    tell_of_plugstack(around);
    if let Some(file) = &around.file {
        warn_if_prolog_hears_srun(file, around.release);
    }
}

/// Logs if plugstack.conf of this host does not load the plugin. Slurm may send this file to all nodes that
/// have no configuration of their own.
fn tell_of_plugstack(around: &Surroundings) {
    let Some(file) = around.plugstack.as_deref() else { return };
    match plugstack::missing(file, SPANK_IPUOF) {
        Ok(None) => {}
        Ok(Some(missing)) if around.is_sent => error!("{}", where_sent(&missing.in_words(file, SPANK_IPUOF))),
        Ok(Some(missing)) => warn!("{}", where_own(&missing.in_words(file, SPANK_IPUOF))),
        Err(why) => warn!("cannot see whether plugstack.conf loads {SPANK_IPUOF}: {why}"),
    }
}

fn where_sent(what: &str) -> String {
    format!(
        "{what}: nodes that get their configuration from here (enable_configless) run tasks of jobs with IPUs without them; \
         write into that file the line: {}",
        plugstack::LINE
    )
}

fn where_own(what: &str) -> String {
    format!(
        "{what}: this is as it should be if nobody submits jobs on this host, and the nodes' own plugstack.conf has the line: {}",
        plugstack::LINE
    )
}

/// Logs the warning of a site whose Prolog has the variables of srun, and not those of slurmctld. `release` is Slurm's `SLURM_VERSION_NUMBER`. slurmctld has read the file at its start.
fn warn_if_prolog_hears_srun(slurm_conf: &Path, release: u32) {
    if SlurmConf::read(slurm_conf, &mut OnDisk).is_ok_and(|conf| conf.prolog_hears_srun(release)) {
        warn!(
            "slurm.conf has a Prolog without PrologFlags=Alloc: where srun starts a job's first step on a node, \
             Prolog has the SPANK_ variables that srun sends, not those of slurmctld; write PrologFlags=Alloc and run scontrol \
             reconfigure"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ledger::{Contact, Millis};
    use vipu_types::{IpuCount, PodId};

    use super::*;

    fn pod(controller: &str, ipus: u32, trouble: Option<Wait>) -> PodView {
        let (model, controller) = (ModelName::new("pod64").unwrap(), controller.parse().unwrap());
        PodView {
            id: PodId { model, controller },
            contact: Contact::NotYet,
            contact_since: Millis(0),
            ipus,
            faulty: 0,
            layout: IpuCount::ONE.into(),
            pool: vec![],
            missing: BTreeMap::new(),
            drained: 0,
            free: ipus,
            largest_free: ipus,
            trouble,
        }
    }

    fn model(name: &str, pods: Vec<PodView>, trouble: Option<Wait>) -> ModelView {
        let facts = ModelFacts::new(ModelName::new(name).unwrap(), vec![], IpuCount::ONE);
        ModelView { facts, pods, trouble, largest_now: 0 }
    }

    #[test]
    fn the_line_has_all_that_ipu_jobs_depend_on() {
        let name = ModelName::new("pod64").unwrap();
        let away =
            Wait::Unreachable { model: name.clone(), reason: "controller b:8090: connection refused".into() };
        let broken = Wait::Trouble {
            model: ModelName::new("pod16").unwrap(),
            trouble: "vipu.conf:1: unknown key".into(),
        };
        let pods = vec![
            PodView { faulty: 2, ..pod("a:8090", 64, None) },
            pod("b:8090", 0, Some(away)),
            pod("c:1", 0, Some(Wait::NoAnswer { model: name })),
        ];
        let full = Wait::Trouble {
            model: ModelName::new("pod4").unwrap(),
            trouble: "IpuofDir: cannot write to /full: No space left on device".into(),
        };
        let directory = |path: &str| Some(PathBuf::from(path));
        let models = [
            (model("pod16", vec![], Some(broken)), None),
            (model("pod4", vec![pod("d:1", 4, None)], Some(full)), directory("/full")),
            (model("pod8", vec![pod("e:1", 8, None)], None), directory("/shared/ipuof")),
            (model("pod64", pods, None), directory("/shared/ipuof")),
        ];
        let journal = ("/var/spool/vipu_journal".into(), 3);
        assert_eq!(
            line("with Slurm 22.05.8 over select/linear", &models, Some(&journal)),
            format!(
                "slurm-vipu {} with Slurm 22.05.8 over select/linear; model pod16: NO JOB CAN START: vipu.conf:1: unknown key; \
                 model pod4: controller d:1 answers (4 IPUs), NO JOB CAN START: IpuofDir: cannot write to /full: No space left on device; \
                 model pod8: controller e:1 answers (8 IPUs), IpuofDir /shared/ipuof writable; model pod64: controller a:8090 answers (64 IPUs, 2 of them faulty), controller b:8090 is away (controller b:8090: connection refused), controller c:1 has not answered yet, \
                 IpuofDir /shared/ipuof not looked at yet; journal /var/spool/vipu_journal (3 partitions)",
                env!("CARGO_PKG_VERSION")
            )
        );
    }

    #[test]
    fn a_site_without_ipus_is_reported() {
        let line = line("", &[], None);
        assert!(line.ends_with("; no node has a vipu GRES; no journal"), "{line}");
    }

    #[test]
    fn a_controller_without_an_answer_is_waited_for() {
        let name = ModelName::new("pod64").unwrap();
        let asked = model("pod64", vec![pod("a:1", 0, Some(Wait::NoAnswer { model: name }))], None);
        assert!(is_asked_still(&asked));
        assert!(!is_asked_still(&model("pod64", vec![pod("a:1", 64, None)], None)));
    }

    #[test]
    fn a_plugstack_for_all_nodes_has_a_message_of_its_own() {
        let what = "there is no /etc/slurm/plugstack.conf";
        assert!(where_sent(what).starts_with("there is no /etc/slurm/plugstack.conf: nodes that get"));
        assert!(where_own(what).contains("if nobody submits jobs on this host"));
        assert!(where_sent(what).ends_with(plugstack::LINE) && where_own(what).ends_with(plugstack::LINE));
    }
}
