//! The Pod models of this cluster, from the nodes' GRES and the files beside slurm.conf.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use driver::{ModelSettings, PodSetup};
use frontend::{Cabling, Model, Models};
use ledger::ModelFacts;
use slurm_host::node_gres::NodeGres;
use tracing::error;
use vipu_client::{Client, Endpoint};
use vipu_conf::{
    AuditLevel, Good, InForce, LoadError, Loaded, Mode, SavedConf, Settings, TypesOfNodes, against_nodes,
};
use vipu_types::{ControllerName, ModelName, ModelPool, PodId, Pool, Words, gres_types};

use crate::node_gres::{consumable, models_on_nodes};
use crate::reporting_controller::ReportingController;
use crate::saved_conf::{GoodText, GoodTexts};

/// The result of reading the models' files.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) models: Models,
    pub(crate) facts: Vec<ModelFacts>,
    /// A setup for each controller of the models that can be used.
    pub(crate) setups: Vec<PodSetup<ReportingController>>,
    /// The good texts, to be saved for a later slurmctld.
    pub(crate) good: GoodTexts,
}

/// Makes the controller of a Pod, with this AuditLevel.
pub(crate) type Connect<'a> = dyn Fn(PodId, Client, AuditLevel) -> ReportingController + 'a;

/// Reads the models' files. A model whose file is broken keeps its settings, if necessary those of an earlier
/// slurmctld.
pub(crate) fn read(
    nodes: &[NodeGres],
    folder: &Path,
    kept: &SavedConf,
    in_force: &mut InForce,
    connect: &Connect<'_>,
) -> Reading {
    consumable(nodes).iter().for_each(|fault| error!("{fault}"));
    let offered = models_on_nodes(nodes);
    let loaded = vipu_conf::load_offered(folder, &offered);
    let good = good_texts(&loaded);
    in_force.update(loaded, |model| earlier(kept, model));
    tell_errors(in_force, |_| true);
    let reading = standing(nodes, in_force, good, connect);
    warn_of_nodes(nodes, &reading.models);
    warn_of_sharing(&reading.models);
    reading
}

/// Says of each model that its jobs are not protected from each other, if they share a partition.
fn warn_of_sharing(models: &Models) {
    for (name, model) in &models.0 {
        let shared = model.settings.as_ref().and_then(|own| own.shared_partition.as_ref());
        if let Some(shared) = shared {
            error!(
                "model {name}: Mode=shared: all jobs use partition {shared}; each of them can use and disturb the IPUs of the \
                 others, and slurm-vipu cannot prevent it"
            );
        }
    }
}

/// Reads the files of new models only. All other models keep their settings.
pub(crate) fn read_new(
    nodes: &[NodeGres],
    folder: &Path,
    kept: &SavedConf,
    in_force: &mut InForce,
    connect: &Connect<'_>,
) -> Reading {
    let mut new = models_on_nodes(nodes);
    new.0.retain(|name, _| in_force.get(name).is_none());
    let loaded = vipu_conf::load_offered(folder, &new);
    let good = good_texts(&loaded);
    in_force.add(loaded, |model| earlier(kept, model));
    tell_errors(in_force, |model| new.0.contains_key(model));
    standing(nodes, in_force, good, connect)
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

/// The models on the nodes, with the settings in force.
fn standing(nodes: &[NodeGres], in_force: &InForce, good: GoodTexts, connect: &Connect<'_>) -> Reading {
    let mut reading = Reading { good, ..Reading::default() };
    for (name, offered) in models_on_nodes(nodes).0 {
        let Some(standing) = in_force.get(&name) else { continue };
        let settings = standing.settings.as_ref();
        let setups = match (settings, &standing.error) {
            (Some(settings), _) => setups(&name, settings, connect),
            (None, error) => Err(error.as_ref().map_or_else(|| "no settings".into(), LoadError::one_line)),
        };
        let limit = settings.filter(|own| own.mode != Mode::Whole).map(|own| own.max_ipus_per_job);
        let largest = limit.map_or(offered.largest(), |most| offered.largest().min(most));
        let cabling = settings.and_then(|own| cabling(own, nodes));
        let model = Model { largest, sizes: offered.into_sizes(), settings: settings.cloned(), cabling };
        reading.facts.push(model.facts(&name, setups.as_ref().err().cloned()));
        reading.setups.extend(setups.into_iter().flatten());
        reading.models.0.insert(name, model);
    }
    reading
}

fn good_texts(loaded: &Loaded) -> GoodTexts {
    let text = |(model, file): (&ModelName, &Result<Good, _>)| {
        let file = file.as_ref().ok()?;
        Some((model.clone(), GoodText { conf: file.text.clone(), host_map: file.host_map.clone() }))
    };
    loaded.iter().filter_map(text).collect()
}

/// The settings of a model in an earlier slurmctld, if they were saved.
fn earlier(kept: &SavedConf, model: &ModelName) -> Option<Settings> {
    let ignored =
        |why: &LoadError| error!("model {model}: what was kept of its file is ignored: {}", why.one_line());
    Some(kept.good(model).inspect_err(ignored).ok()??.settings)
}

/// The IPUs that belong to a model's nodes. None if the settings give no node IPUs of its own.
fn cabling(settings: &Settings, nodes: &[NodeGres]) -> Option<Arc<Cabling>> {
    if settings.host_map.is_some() {
        return Some(Arc::new(Cabling::Hosts(numbered(&hosts(settings), nodes))));
    }
    let controllers = settings.owners_of_nodes();
    (!controllers.is_empty()).then(|| Arc::new(Cabling::Controllers(numbered(&controllers, nodes))))
}

/// The values by the numbers of the nodes.
fn numbered<T: Clone>(by_name: &BTreeMap<String, T>, nodes: &[NodeGres]) -> BTreeMap<u32, T> {
    nodes.iter().filter_map(|node| Some((node.number, by_name.get(&node.node)?.clone()))).collect()
}

/// The IPUs of each host that the settings name.
fn hosts(settings: &Settings) -> BTreeMap<String, Range<u32>> {
    let hosts = settings.host_map.iter().flat_map(|file| &file.map.hosts);
    hosts.map(|host| (host.host.clone(), host.ipus.clone())).collect()
}

/// Says of each model which of its nodes have no IPUs, which nodes with IPUs do not have the model, and which sizes only
/// nodes or only the pool have.
fn warn_of_nodes(nodes: &[NodeGres], models: &Models) {
    let nodes: TypesOfNodes = nodes.iter().map(|it| (it.node.clone(), gres_types(&it.gres))).collect();
    for (model, settings) in models.0.iter().filter_map(|(name, it)| Some((name, it.settings.as_ref()?))) {
        for line in against_nodes(model, settings, &nodes) {
            error!("model {model}: {line}");
        }
    }
}

/// A setup for each controller of a model.
fn setups(
    model: &ModelName,
    own: &Settings,
    connect: &Connect<'_>,
) -> Result<Vec<PodSetup<ReportingController>>, Words> {
    let of_model = |pool: &Pool| ModelPool::new(pool.clone(), &own.partition_prefix, model);
    let pool = own.pool.as_ref().map(of_model).transpose()?;
    let settings = ModelSettings {
        create_timeout: own.create_timeout,
        max_retries: own.max_retries,
        reconcile_interval: own.reconcile_interval,
        remove_unknown: own.remove_unknown,
        domain_size: own.link_domain_size,
        pool,
        hosts: own.host_map.as_ref().map(|file| file.map.clone()),
        shared: own.shared_partition.clone(),
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
        let client = Client::new(endpoint).map_err(Words::of)?;
        let pod = PodId { model: model.clone(), controller: name.clone() };
        let controller = connect(pod.clone(), client, own.audit_level);
        Ok(PodSetup { pod, settings: settings.clone(), controller })
    };
    own.controllers.iter().map(setup).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    fn node(gres: &str) -> NodeGres {
        NodeGres { number: 0, node: "n1".into(), gres: gres.into(), line: gres.into() }
    }

    /// The reading of a slurmctld that finds `file` in vipu.conf, and `kept` from an earlier slurmctld.
    fn found(file: &str, kept: &str) -> Reading {
        found_for("vipu:pod64:no_consume:64", file, kept)
    }

    /// The reading if a node has this `Gres=`.
    fn found_for(gres: &str, file: &str, kept: &str) -> Reading {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("vipu.conf"), file).unwrap();
        fs::write(dir.path().join("vipu_conf.pod64"), kept).unwrap();
        let kept = SavedConf::in_dir(dir.path());
        let connect = |pod, client, _| ReportingController::new(pod, client, Arc::default(), None);
        read(&[node(gres)], dir.path(), &kept, &mut InForce::default(), &connect)
    }

    const GOOD: &str = "ApiHost=127.0.0.1 IpuofDir=/x MaxIpusPerJob=16";

    #[test]
    fn a_file_that_broke_while_no_slurmctld_ran_leaves_the_kept_settings_in_force() {
        let Reading { models, facts, good, .. } = found("Nonsense=1", GOOD);
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
    fn a_good_file_replaces_any_kept_text() {
        let Reading { models, good, .. } = found(GOOD, "ApiHost=other IpuofDir=/y");
        let settings = models.0.values().next().unwrap().settings.as_ref().unwrap();
        assert_eq!(settings.controllers[0].host(), "127.0.0.1");
        let text = GoodText { conf: GOOD.to_owned(), host_map: None };
        assert_eq!(good, [(ModelName::new("pod64").unwrap(), text)]);
    }

    #[test]
    fn sizes_on_nodes_are_those_of_a_pool() {
        const SIZES: &str = "vipu:16:no_consume:4,vipu:4:no_consume:8";
        let Reading { models, facts, .. } = found_for(SIZES, &format!("{GOOD} Mode=pool Pool=16x4"), "");
        let vipu = &models.0[&ModelName::of_sizes()];
        assert_eq!((vipu.largest, vipu.sizes.as_ref().map(BTreeSet::len)), (16, Some(2)));
        assert_eq!(facts[0].trouble, None);
        let Reading { facts, .. } = found_for(SIZES, GOOD, "");
        let trouble = facts[0].trouble.as_deref().unwrap();
        assert!(trouble.contains("write Mode=pool and Pool="), "{trouble}");
    }

    #[test]
    fn each_controller_is_a_pod_of_the_model() {
        let Reading { models, facts, setups, .. } =
            found("ApiHost=b,a:1 IpuofDir=/x Allocation=c UseReconfigPartition=1", GOOD);
        let names = |pods: Vec<PodId>| pods.iter().map(PodId::to_string).collect::<Vec<_>>();
        let expected = ["pod64 (b:8090)", "pod64 (a:1)"];
        assert_eq!(names(facts[0].pods().collect()), expected);
        assert!(setups.iter().all(|setup| setup.settings.allocation.as_deref() == Some("c")));
        assert!(setups.iter().all(|setup| setup.settings.reconfigurable));
        assert_eq!(names(setups.into_iter().map(|setup| setup.pod).collect()), expected);
        let first = models.first_controller(&facts[0].model).unwrap();
        assert_eq!(first.to_string(), "b:8090");
    }
}
