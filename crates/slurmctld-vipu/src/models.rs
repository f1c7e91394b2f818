//! The Pod models of this cluster: from the nodes' GRES and the files beside slurm.conf.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use conf::{InForce, Settings, Standing};
use driver::{ModelSettings, ModelSetup};
use ledger::ModelFacts;
use slurm_host::nodes::NodeGres;
use tracing::{error, info};
use vipu_client::{Client, Endpoint};
use vipu_types::{IpuCount, ModelName, PartitionId};

/// What the callbacks need to know of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Model {
    /// The largest partition of a job, in IPUs.
    pub(crate) largest: u32,
    /// Beginning of partition ids (PartitionPrefix).
    prefix: String,
    /// How long a removal waits for the job's nodes.
    pub(crate) remove_wait: Duration,
}

/// All models, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Models(pub(crate) BTreeMap<ModelName, Model>);

impl Model {
    /// A model of which only the limit matters.
    #[cfg(test)]
    pub(crate) fn of_size(largest: u32) -> Self {
        Self { largest, prefix: "slurm".into(), remove_wait: Duration::ZERO }
    }

    /// The id of the partition of one run of a job.
    pub(crate) fn partition(&self, job: u32, restart: u16) -> Option<PartitionId> {
        let id = PartitionId::of_run(&self.prefix, job, restart);
        id.inspect_err(|why| error!("no partition for job {job}: {why}")).ok()
    }
}

/// What a reading of the configuration gave, for each of those who need it.
pub(crate) struct Reading {
    pub(crate) models: Models,
    pub(crate) facts: Vec<ModelFacts>,
    pub(crate) setups: Vec<ModelSetup<Client>>,
}

/// Reads the models' files; models whose file is broken keep the settings they had.
pub(crate) fn read(nodes: &[NodeGres], folder: &Path, in_force: &mut InForce) -> Reading {
    let sizes = sizes_on_nodes(nodes);
    let names: Vec<_> = sizes.keys().cloned().collect();
    in_force.update(conf::load(folder, &names));
    let mut reading = Reading { models: Models::default(), facts: Vec::new(), setups: Vec::new() };
    for (model, on_nodes) in sizes {
        if let Some(standing) = in_force.get(&model) {
            reading.add(model, on_nodes, standing);
        }
    }
    reading
}

impl Reading {
    fn add(&mut self, model: ModelName, on_nodes: u32, standing: &Standing) {
        if let Some(why) = &standing.error {
            let kept = if standing.settings.is_some() {
                "the earlier settings stay in force"
            } else {
                "its jobs wait"
            };
            error!("model {model}: {kept}: {why}");
        }
        let setup = standing.settings.as_ref().map(|settings| setup(&model, settings));
        let trouble = match (&setup, &standing.error) {
            (Some(Ok(_)), _) => None,
            (Some(Err(why)), _) => Some(why.clone()),
            (None, error) => {
                Some(error.as_ref().map_or_else(|| "no settings".into(), conf::LoadError::one_line))
            }
        };
        let largest = standing.settings.as_ref().map_or(on_nodes, |own| on_nodes.min(own.max_ipus_per_job));
        let domain_size = standing.settings.as_ref().map_or(IpuCount::ONE, |own| own.link_domain_size);
        self.facts.push(ModelFacts { model: model.clone(), domain_size, largest, trouble });
        self.setups.extend(setup.and_then(Result::ok));
        let settings = standing.settings.as_ref();
        let known = Model {
            largest,
            prefix: settings.map_or_else(|| "slurm".into(), |own| own.partition_prefix.clone()),
            remove_wait: settings.map_or(Duration::ZERO, |own| own.remove_wait),
        };
        self.models.0.insert(model, known);
    }
}

fn setup(model: &ModelName, own: &Settings) -> Result<ModelSetup<Client>, String> {
    let endpoint = Endpoint { host: own.api_host.clone(), port: own.api_port, timeout: own.api_timeout };
    let client = Client::new(endpoint).map_err(|why| why.to_string())?;
    info!("model {model}: controller {}:{}", own.api_host, own.api_port);
    let settings = ModelSettings {
        create_timeout: own.create_timeout,
        domain_size: own.link_domain_size,
        force_remove: own.force_delete_partition,
        reconfigurable: own.use_reconfig_partition,
        allocation: own.allocation.clone(),
        max_concurrent_creates: usize::try_from(own.max_concurrent_creates).unwrap_or(usize::MAX),
        ipuof_dir: own.ipuof_dir.as_path().into(),
    };
    Ok(ModelSetup { model: model.clone(), settings, controller: client })
}

/// The models that nodes offer, each with the largest count any node gives it.
fn sizes_on_nodes(nodes: &[NodeGres]) -> BTreeMap<ModelName, u32> {
    let mut sizes = BTreeMap::new();
    for node in nodes {
        for element in node.gres.split(',').filter_map(|element| element.trim().strip_prefix("vipu:")) {
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
    use super::*;

    fn node(gres: &str) -> NodeGres {
        NodeGres { node: "n1".into(), gres: gres.into() }
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
    fn a_node_without_a_model_is_told_what_to_write() {
        assert_eq!(model_of("no_consume:8").unwrap_err(), "needs a model and a number of IPUs");
        assert_eq!(model_of("pod64:many").unwrap_err(), "many is not a number of IPUs");
    }
}
