//! The models that nodes offer, from `Gres=` in slurm.conf.

use std::collections::BTreeMap;

use slurm_host::nodes::NodeGres;
use tracing::error;
use vipu_types::ModelName;

/// The models that nodes offer, each with the largest count any node gives it.
pub(crate) fn sizes_on_nodes(nodes: &[NodeGres]) -> BTreeMap<ModelName, u32> {
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

/// The models of a node's `Gres=`, each with its count. An error says how an element is wrong.
fn offered(gres: &str) -> impl Iterator<Item = Result<(ModelName, u32), String>> {
    elements(gres).map(model_of)
}

fn elements(gres: &str) -> impl Iterator<Item = &str> {
    gres.split(',').filter_map(|element| element.trim().strip_prefix("vipu:"))
}

/// Elements that lack `no_consume`, each in one line with its nodes. slurmctld sends the word to no slurmd,
/// so only this check sees it.
pub(crate) fn consumable(nodes: &[NodeGres]) -> Vec<String> {
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

/// Reads an element without its `vipu:`, for example `pod64:no_consume:64`.
fn model_of(element: &str) -> Result<(ModelName, u32), String> {
    // Slurm writes an index set such as `(S:0)` behind the count in some places.
    let element = element.split('(').next().unwrap_or(element);
    let mut words: Vec<_> = element.split(':').collect();
    words.retain(|word| !word.eq_ignore_ascii_case("no_consume"));
    let [model, count] = words[..] else { return Err("needs a model and a number of IPUs".into()) };
    let count = count.parse().map_err(|_| format!("{count} is not a number of IPUs"))?;
    Ok((ModelName::new(model).map_err(|why| why.to_string())?, count))
}

/// Whether a node has IPUs, of this model if one is given.
pub(crate) fn offers(node: &NodeGres, model: Option<&ModelName>) -> bool {
    offered(&node.gres).any(|found| model.is_none_or(|wanted| found.is_ok_and(|(of, _)| of == *wanted)))
}

#[cfg(test)]
mod tests {
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
    fn a_gres_without_a_model_or_a_number_is_an_error() {
        assert_eq!(model_of("no_consume:8").unwrap_err(), "needs a model and a number of IPUs");
        assert_eq!(model_of("pod64:many").unwrap_err(), "many is not a number of IPUs");
    }

    #[test]
    fn a_node_offers_the_models_of_its_gres() {
        let (pod64, pod16) = (ModelName::new("pod64").unwrap(), ModelName::new("pod16").unwrap());
        let mixed = node("gpu:4,vipu:pod64:no_consume:64");
        assert_eq!([&pod64, &pod16].map(|model| offers(&mixed, Some(model))), [true, false]);
        assert!(offers(&mixed, None) && !offers(&node("gpu:4"), None));
    }
}
