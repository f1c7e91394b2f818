//! The models that nodes offer, from `Gres=` in slurm.conf.

use std::collections::BTreeMap;

use slurm_host::node_gres::NodeGres;
use tracing::error;
use vipu_types::{GresType, OfferedModels, bad_element, consumable_element, ipu_elements, offered};

/// The models that nodes offer. Errors go into the log.
pub(crate) fn models_on_nodes(nodes: &[NodeGres]) -> OfferedModels {
    let mut models = OfferedModels::default();
    for node in nodes {
        for element in ipu_elements(&node.gres) {
            if let Err(why) = models.add(element) {
                error!("{}", bad_element(&node.node, element, &why));
            }
        }
    }
    models
}

/// Elements that lack `no_consume`, each in one line with its nodes. slurmctld sends the word to no slurmd,
/// so only this check sees it.
pub(crate) fn consumable(nodes: &[NodeGres]) -> Vec<String> {
    let mut found: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for node in nodes {
        let Some(first) = consumable_element(&node.line) else { continue };
        found.entry(first).and_modify(|(_, others)| *others += 1).or_insert((&node.node, 0));
    }
    let line = |(element, (node, others))| vipu_types::consumable(node, others, element);
    found.into_iter().map(line).collect()
}

/// Whether a node has IPUs, of this type if one is given.
pub(crate) fn offers(node: &NodeGres, of: Option<&GresType>) -> bool {
    let mut types = ipu_elements(&node.gres).map(offered);
    types.any(|found| of.is_none_or(|wanted| found.is_ok_and(|(of, _)| of == *wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(gres: &str) -> NodeGres {
        NodeGres { number: 0, node: "n1".into(), gres: gres.into(), line: gres.into() }
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
        let OfferedModels(models) = models_on_nodes(&nodes);
        let sizes: Vec<_> =
            models.iter().map(|(model, offered)| (model.as_str(), offered.largest())).collect();
        assert_eq!(sizes, [("pod16", 16), ("pod4", 4), ("pod64", 64)]);
    }

    #[test]
    fn a_gres_without_no_consume_is_reported_with_its_correction() {
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

    #[test]
    fn a_node_offers_the_models_of_its_gres() {
        let mixed = node("gpu:4,vipu:pod64:no_consume:64,vipu:16:no_consume:4");
        let has = |of| offers(&mixed, Some(&GresType::new(of).unwrap()));
        assert_eq!(["pod64", "pod16", "16", "64"].map(has), [true, false, true, false]);
        assert!(offers(&mixed, None) && !offers(&node("gpu:4"), None));
    }
}
