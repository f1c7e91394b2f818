//! The Pod models of this cluster: from the nodes' GRES and the files beside slurm.conf.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use driver::{ModelSettings, PodSetup};
use ledger::{ModelFacts, Placement};
use slurm_host::nodes::NodeGres;
use tracing::error;
use vipu_client::{Client, Endpoint};
use vipu_conf::{Good, InForce, LoadError, Loaded, OnPartitionError, SavedConf, Settings, SizePolicy};
use vipu_types::{ControllerName, Grant, IpuCount, ModelName, PartitionId, PodId};

use crate::keep_and_requeue::FailureLimits;
use crate::request::Resolved;
use crate::saved_conf::GoodTexts;

/// One model, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Model {
    /// The largest partition of a job, in IPUs.
    pub(crate) largest: u32,
    /// What its file says; `None` while it never had a good one, and so no job.
    pub(crate) settings: Option<Settings>,
}

/// All models, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Models(pub(crate) BTreeMap<ModelName, Model>);

impl Model {
    /// A model of which only the limit matters.
    #[cfg(test)]
    pub(crate) fn of_size(largest: u32) -> Self {
        Self { largest, settings: None }
    }

    /// IPUs in one IPU-Link domain; more than there are while it has no settings, and so no job.
    pub(crate) fn link_domain(&self) -> IpuCount {
        self.settings.as_ref().map_or(IpuCount::LARGEST, |own| own.link_domain_size)
    }

    /// Whether a number of IPUs that no partition has is rounded up.
    pub(crate) fn rounds_up(&self) -> bool {
        self.settings.as_ref().is_some_and(|own| own.size_policy == SizePolicy::RoundUp)
    }

    /// Its controllers, in the order in which they are tried.
    fn controllers(&self) -> &[ControllerName] {
        self.settings.as_ref().map_or(&[], |own| &own.controllers)
    }

    /// As the ledger wants it.
    pub(crate) fn facts(&self, name: &ModelName, trouble: Option<String>) -> ModelFacts {
        ModelFacts {
            model: name.clone(),
            controllers: self.controllers().to_vec(),
            domain_size: self.settings.as_ref().map_or(IpuCount::ONE, |own| own.link_domain_size),
            prefix: self.settings.as_ref().map(|own| own.partition_prefix.clone()).unwrap_or_default(),
            placement: match self.settings.as_ref().map(|own| own.placement) {
                Some(vipu_conf::Placement::Explicit) => Placement::Explicit,
                Some(vipu_conf::Placement::Controller) | None => Placement::Controller,
            },
            reconcile_interval: self.settings.as_ref().map(|own| own.reconcile_interval).unwrap_or_default(),
            largest: self.largest,
            trouble,
        }
    }
}

impl Models {
    /// What a job with so many nodes is given for a request that was resolved: this partition, on this controller.
    pub(crate) fn grant(
        &self,
        partition: PartitionId,
        nodes: u32,
        wanted: Resolved,
        controller: ControllerName,
    ) -> Option<Grant> {
        let Resolved { model, size, shape } = wanted;
        let settings = self.0.get(&model)?.settings.as_ref()?;
        let shape = shape.by_site(settings.use_reconfig_partition);
        let gcds = shape.settled(size, settings.link_domain_size, nodes).gcds;
        let delivery = settings.delivery;
        Some(Grant { partition, model, size, gcds, controller: Some(controller), delivery })
    }

    /// The controller that is tried first, as long as the model has settings.
    pub(crate) fn first_controller(&self, model: &ModelName) -> Option<ControllerName> {
        self.0.get(model)?.controllers().first().cloned()
    }

    /// Where the files of its partitions go.
    pub(crate) fn ipuof_dir(&self, model: &ModelName) -> Option<PathBuf> {
        self.0.get(model)?.settings.as_ref()?.ipuof_dir.clone()
    }

    /// How many IPUs of this model the jobs of a Slurm partition may have together, if that is limited.
    pub(crate) fn limit_of(&self, model: &ModelName, slurm_partition: &str) -> Option<u32> {
        let settings = self.0.get(model)?.settings.as_ref()?;
        settings.ipus_per_slurm_partition.get(slurm_partition).copied()
    }

    /// Whether the partition of a job is made before the job has nodes.
    pub(crate) fn prepares(&self, model: &ModelName, is_batch: bool) -> bool {
        let settings = self.0.get(model).and_then(|model| model.settings.as_ref());
        settings.is_some_and(|settings| settings.prepare.is_for(is_batch))
    }

    /// How long such a partition waits for the job's nodes.
    pub(crate) fn prepare_wait(&self, model: &ModelName) -> Duration {
        let settings = self.0.get(model).and_then(|model| model.settings.as_ref());
        settings.map_or(Duration::ZERO, |settings| settings.prepare_wait)
    }

    /// How many such partitions a user has at most.
    pub(crate) fn prepare_max(&self, model: &ModelName) -> u32 {
        let settings = self.0.get(model).and_then(|model| model.settings.as_ref());
        settings.map_or(0, |settings| settings.prepare_max)
    }

    /// How long a removal waits for a job's nodes.
    pub(crate) fn remove_wait(&self, model: &ModelName) -> Duration {
        let settings = self.0.get(model).and_then(|model| model.settings.as_ref());
        settings.map_or(Duration::ZERO, |settings| settings.remove_wait)
    }

    /// What becomes of a job whose partition fails while it runs.
    pub(crate) fn on_partition_error(&self, model: &ModelName) -> OnPartitionError {
        let settings = self.0.get(model).and_then(|model| model.settings.as_ref());
        settings.map_or(OnPartitionError::Leave, |settings| settings.on_partition_error)
    }

    /// What may be done for the failed jobs of a model.
    pub(crate) fn failure_limits(&self, model: &ModelName) -> FailureLimits {
        let settings = self.0.get(model).and_then(|model| model.settings.as_ref());
        settings.map_or(FailureLimits::default(), |own| FailureLimits {
            keep: own.max_keep,
            requeues: own.max_requeues,
        })
    }

    /// The Pods as the driver wants them.
    pub(crate) fn setups(&self) -> Vec<PodSetup<Client>> {
        let setups = |(name, model): (&ModelName, &Model)| setups(name, model.settings.as_ref()?).ok();
        self.0.iter().filter_map(setups).flatten().collect()
    }
}

/// What reading the models' files came to.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) models: Models,
    pub(crate) facts: Vec<ModelFacts>,
    /// To be kept for a later slurmctld.
    pub(crate) good: GoodTexts,
}

/// Reads the models' files; models whose file is broken keep the settings they had, in an earlier slurmctld if
/// need be.
pub(crate) fn read(nodes: &[NodeGres], folder: &Path, kept: &SavedConf, in_force: &mut InForce) -> Reading {
    consumable(nodes).iter().for_each(|fault| error!("{fault}"));
    let sizes = sizes_on_nodes(nodes);
    let loaded = vipu_conf::load(folder, &sizes.keys().cloned().collect::<Vec<_>>());
    let good = good_texts(&loaded);
    in_force.update(loaded, |model| earlier(kept, model));
    tell_errors(in_force, |_| true);
    standing(sizes, in_force, good)
}

/// Reads the files of those models that are new; all others keep what they have.
pub(crate) fn read_new(
    nodes: &[NodeGres],
    folder: &Path,
    kept: &SavedConf,
    in_force: &mut InForce,
) -> Reading {
    let sizes = sizes_on_nodes(nodes);
    let new: Vec<_> = sizes.keys().filter(|name| in_force.get(name).is_none()).cloned().collect();
    let mut good = GoodTexts::default();
    if !new.is_empty() {
        let loaded = vipu_conf::load(folder, &new);
        good = good_texts(&loaded);
        in_force.add(loaded, |model| earlier(kept, model));
        tell_errors(in_force, |model| new.contains(model));
    }
    standing(sizes, in_force, good)
}

fn tell_errors(in_force: &InForce, is_news: impl Fn(&ModelName) -> bool) {
    for (name, standing) in in_force.iter().filter(|(name, _)| is_news(name)) {
        if let Some(why) = &standing.error {
            let is_settled = standing.settings.is_some();
            let outcome = if is_settled { "the earlier settings stay in force" } else { "its jobs wait" };
            error!("model {name}: {outcome}: {why}");
        }
    }
}

/// What the models on the nodes come to with the settings in force.
fn standing(sizes: BTreeMap<ModelName, u32>, in_force: &InForce, good: GoodTexts) -> Reading {
    let mut reading = Reading { good, ..Reading::default() };
    for (name, on_nodes) in sizes {
        let Some(standing) = in_force.get(&name) else { continue };
        let settings = standing.settings.as_ref();
        let trouble = match (settings, &standing.error) {
            (Some(settings), _) => setups(&name, settings).err(),
            (None, error) => Some(error.as_ref().map_or_else(|| "no settings".into(), LoadError::one_line)),
        };
        let largest = settings.map_or(on_nodes, |own| on_nodes.min(own.max_ipus_per_job));
        let model = Model { largest, settings: settings.cloned() };
        reading.facts.push(model.facts(&name, trouble));
        reading.models.0.insert(name, model);
    }
    reading
}

fn good_texts(loaded: &Loaded) -> GoodTexts {
    let text = |(model, file): (&ModelName, &Result<Good, _>)| {
        Some((model.clone(), file.as_ref().ok()?.text.clone()))
    };
    loaded.iter().filter_map(text).collect()
}

/// What a model had in an earlier slurmctld, if it kept that.
fn earlier(kept: &SavedConf, model: &ModelName) -> Option<Settings> {
    let ignored =
        |why: &LoadError| error!("model {model}: what was kept of its file is ignored: {}", why.one_line());
    kept.settings(model).inspect_err(ignored).ok().flatten()
}

/// A setup for each controller of a model.
fn setups(model: &ModelName, own: &Settings) -> Result<Vec<PodSetup<Client>>, String> {
    let settings = ModelSettings {
        create_timeout: own.create_timeout,
        max_retries: own.max_retries,
        reconcile_interval: own.reconcile_interval,
        remove_unknown: own.remove_unknown,
        domain_size: own.link_domain_size,
        force_remove: own.force_delete_partition,
        reconfigurable: own.use_reconfig_partition,
        allocation: own.allocation.clone(),
        allocation_agents: own.allocation_agents.clone(),
        cluster: own.cluster.clone(),
        max_concurrent_creates: usize::try_from(own.max_concurrent_creates).unwrap_or(usize::MAX),
        ipuof_dir: own.ipuof_dir.as_deref().map(Into::into),
    };
    let setup = |name: &ControllerName| {
        let endpoint = Endpoint {
            tls: own.tls(),
            access: own.access(),
            ..Endpoint::plain(name.host(), name.port(), own.api_timeout)
        };
        let controller = Client::new(endpoint).map_err(|why| why.to_string())?;
        let pod = PodId { model: model.clone(), controller: name.clone() };
        Ok(PodSetup { pod, settings: settings.clone(), controller })
    };
    own.controllers.iter().map(setup).collect()
}

/// The models that nodes offer, each with the largest count any node gives it.
fn sizes_on_nodes(nodes: &[NodeGres]) -> BTreeMap<ModelName, u32> {
    let mut sizes = BTreeMap::new();
    for node in nodes {
        for element in elements(&node.gres) {
            match model_of(element) {
                Ok((model, count)) => {
                    let size = sizes.entry(model).or_insert(0);
                    *size = count.max(*size);
                }
                Err(why) => error!(
                    "node {}: Gres=vipu:{element}: {why}; write Gres=vipu:<model>:no_consume:<IPUs>",
                    node.node
                ),
            }
        }
    }
    sizes
}

/// The models of a node's `Gres=`, each with its count, or what is wrong with an element.
pub(crate) fn offered(gres: &str) -> impl Iterator<Item = Result<(ModelName, u32), String>> {
    elements(gres).map(model_of)
}

fn elements(gres: &str) -> impl Iterator<Item = &str> {
    gres.split(',').filter_map(|element| element.trim().strip_prefix("vipu:"))
}

/// Elements that lack `no_consume`, each in one line with its nodes. A slurmd is not told of the word: only here it is seen.
fn consumable(nodes: &[NodeGres]) -> Vec<String> {
    let mut found: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for node in nodes {
        let own = node.line.split(',').filter_map(|element| element.trim().strip_prefix("vipu:"));
        // The word is one flag for all of a node's models.
        let Some(first) = own.clone().next() else { continue };
        let is_word = |word: &str| word.eq_ignore_ascii_case("no_consume");
        if !own.flat_map(|element| element.split(':')).any(is_word) {
            found.entry(first).or_insert((&node.node, 0)).1 += 1;
        }
    }
    let line = |(element, (node, count)): (&str, (&str, usize))| {
        let others = if count == 1 { String::new() } else { format!(" (and {} more nodes)", count - 1) };
        let good = element.rsplit_once(':').map(|(model, count)| format!("{model}:no_consume:{count}"));
        format!(
            "node {node}{others}: Gres=vipu:{element} lacks no_consume: Slurm counts the IPUs as the node's own, and jobs and steps \
             wait for one another; write Gres=vipu:{}",
            good.unwrap_or_else(|| "<model>:no_consume:<IPUs>".into())
        )
    };
    found.into_iter().map(line).collect()
}

/// `pod64:no_consume:64`, as it stands after `vipu:`.
fn model_of(element: &str) -> Result<(ModelName, u32), String> {
    // Slurm writes an index set such as `(S:0)` behind the count in some places.
    let element = element.split('(').next().unwrap_or(element);
    let mut words: Vec<_> = element.split(':').collect();
    words.retain(|word| !word.eq_ignore_ascii_case("no_consume"));
    let [model, count] = words[..] else { return Err("needs a model and a number of IPUs".into()) };
    let count = count.parse().map_err(|_| format!("{count} is not a number of IPUs"))?;
    Ok((ModelName::new(model).map_err(|why| why.to_string())?, count))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn node(gres: &str) -> NodeGres {
        NodeGres { node: "n1".into(), gres: gres.into(), line: gres.into() }
    }

    #[test]
    fn models_come_from_the_nodes() {
        let nodes = [
            node("vipu:pod64:no_consume:64"),
            node("gpu:2,vipu:pod16:no_consume:16"),
            node("vipu:pod64:no_consume:32"),
            node("vipu:no_consume:8"),
            node("vipu:pod4:4(S:0)"),
        ];
        let sizes = sizes_on_nodes(&nodes);
        let sizes: Vec<_> = sizes.iter().map(|(model, size)| (model.as_str(), *size)).collect();
        assert_eq!(sizes, [("pod16", 16), ("pod4", 4), ("pod64", 64)]);
    }

    #[test]
    fn a_node_whose_ipus_slurm_would_count_is_told_what_to_write() {
        let nodes = [
            node("vipu:pod64:64"),
            node("gpu:2,vipu:pod64:64"),
            node("vipu:pod64:no_consume:64,vipu:pod16:16"),
            node("vipu:pod64:NO_CONSUME:64"),
            node("gpu:2"),
        ];
        let told = consumable(&nodes);
        let [line] = &told[..] else { panic!("{told:?}") };
        assert!(
            line.starts_with("node n1 (and 1 more nodes): Gres=vipu:pod64:64 lacks no_consume"),
            "{line}"
        );
        assert!(line.ends_with("write Gres=vipu:pod64:no_consume:64"), "{line}");
        assert_eq!(consumable(&nodes[2..]), [""; 0]);
    }

    /// What a slurmctld has that finds `file` in vipu.conf, and `kept` by an earlier one.
    fn found(file: &str, kept: &str) -> Reading {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("vipu.conf"), file).unwrap();
        fs::write(dir.path().join("vipu_conf.pod64"), kept).unwrap();
        let kept = SavedConf::in_dir(dir.path());
        read(&[node("vipu:pod64:no_consume:64")], dir.path(), &kept, &mut InForce::default())
    }

    const GOOD: &str = "ApiHost=127.0.0.1 IpuofDir=/x MaxIpusPerJob=16";

    #[test]
    fn a_file_that_broke_while_no_slurmctld_ran_leaves_the_kept_settings_in_force() {
        let Reading { models, facts, good } = found("Nonsense=1", GOOD);
        let pod64 = models.0.values().next().unwrap();
        assert_eq!((pod64.largest, pod64.settings.is_some()), (16, true));
        assert_eq!(facts[0].trouble, None);
        assert_eq!(good, []);
    }

    #[test]
    fn a_kept_text_that_is_wrong_is_ignored() {
        let Reading { models, facts, .. } = found("Nonsense=1", "Other=1");
        assert_eq!(models.0.values().next().unwrap().settings, None);
        assert!(facts[0].trouble.as_ref().unwrap().starts_with("vipu.conf:1: unknown key 'Nonsense'"));
    }

    #[test]
    fn a_good_file_is_to_be_kept_whatever_was_kept_before() {
        let Reading { models, good, .. } = found(GOOD, "ApiHost=other IpuofDir=/y");
        let settings = models.0.values().next().unwrap().settings.as_ref().unwrap();
        assert_eq!(settings.controllers[0].host(), "127.0.0.1");
        assert_eq!(good, [(ModelName::new("pod64").unwrap(), GOOD.to_owned())]);
    }

    #[test]
    fn each_controller_is_a_pod_of_the_model() {
        let Reading { models, facts, .. } = found("ApiHost=b,a:1 IpuofDir=/x Allocation=c", GOOD);
        let names = |pods: Vec<PodId>| pods.iter().map(PodId::to_string).collect::<Vec<_>>();
        let expected = ["pod64 (b:8090)", "pod64 (a:1)"];
        assert_eq!(names(facts[0].pods().collect()), expected);
        let setups = models.setups();
        assert!(setups.iter().all(|setup| setup.settings.allocation.as_deref() == Some("c")));
        assert_eq!(names(setups.into_iter().map(|setup| setup.pod).collect()), expected);
        let first = models.first_controller(&facts[0].model).unwrap();
        assert_eq!(first.to_string(), "b:8090");
    }

    #[test]
    fn a_node_without_a_model_is_told_what_to_write() {
        assert_eq!(model_of("no_consume:8").unwrap_err(), "needs a model and a number of IPUs");
        assert_eq!(model_of("pod64:many").unwrap_err(), "many is not a number of IPUs");
    }
}
