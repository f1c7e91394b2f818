//! The GRES of nodes.

use std::collections::BTreeSet;

use slurm_conf::HostList;
use vipu_conf::{Settings, TypesOfNodes, against_nodes};
use vipu_types::{GresType, IpuCount, NotASize};

use crate::controllers::Controller;
use crate::finding::Finding;
use crate::models::{ModelFile, settings};
use crate::slurm_conf::{Offer, Offering, Slurm};

/// Each node with IPUs offers a model, `no_consume` and a number of IPUs, and there is such a node.
pub(crate) fn offers(slurm: &Slurm) -> Vec<Finding> {
    if slurm.nodes.is_empty() && slurm.value("MaxNodeCount").is_some() {
        // As with Slinky's slurm-operator. slurm.conf does not have such nodes.
        let what = "no node in it has a vipu GRES, so that the files of models are not checked";
        let fix = "if nodes register themselves, check that scontrol show node shows Gres=vipu:<model>:no_consume:<IPUs>";
        return vec![Finding::hint("slurm.conf", what, fix)];
    }
    if slurm.nodes.is_empty() {
        let fix = "write Gres=vipu:<model>:no_consume:<IPUs of the Pod> into the lines of the nodes";
        return vec![Finding::error("slurm.conf", "no node has a vipu GRES, so that no job gets IPUs", fix)];
    }
    slurm.nodes.iter().flat_map(of_nodes).collect()
}

/// The nodes that offer a model are those of its `Nodes`, and the sizes that they offer are those of its `Pool`.
pub(crate) fn fit(slurm: &Slurm, models: &[ModelFile]) -> Vec<Finding> {
    if !slurm.is_controller_host {
        return Vec::new();
    }
    let names =
        |line: &Offering| HostList::parse(&line.nodes).ok().map(|list| list.names().collect::<Vec<_>>());
    let types = |line: &Offering| -> BTreeSet<_> {
        let types = line.offers.iter().filter_map(|offer| offer.model.as_deref());
        types.filter_map(|of| GresType::new(of).ok()).collect()
    };
    let of_line = |line: &Offering| {
        let types = types(line);
        names(line).unwrap_or_default().into_iter().map(move |node| (node, types.clone()))
    };
    let nodes: TypesOfNodes = slurm.nodes.iter().flat_map(of_line).collect();
    let of_model = |(model, settings): (&ModelFile, &Settings)| {
        let found = against_nodes(&model.name, settings, &nodes);
        let fix = "let the file and Gres= of the nodes fit together, then scontrol reconfigure";
        found.into_iter().map(|what| Finding::error(&model.file, what, fix)).collect::<Vec<_>>()
    };
    settings(models).flat_map(of_model).collect()
}

/// No node offers, and MaxIpusPerJob allows, no more IPUs than the largest Pod has.
pub(crate) fn within_pod(slurm: &Slurm, models: &[ModelFile], controllers: &[Controller]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (model, own) in settings(models) {
        let of_model = controllers.iter().filter(|controller| controller.model == model.name);
        // A controller that does not tell may have the largest Pod.
        let told: Option<Vec<_>> = of_model.map(|controller| controller.ipus).collect();
        let Some(ipus) = told.unwrap_or_default().into_iter().max().filter(|ipus| *ipus > 0) else {
            continue;
        };
        // The number of a node is a power of two, and that of a Pod need not be.
        let most = ipus.next_power_of_two();
        for line in &slurm.nodes {
            let is_too_much = |offer: &&Offer| {
                let count = offer.count.as_ref().and_then(|count| count.parse::<usize>().ok());
                offer.model.as_deref() == Some(model.name.as_str()) && count.is_some_and(|count| count > most)
            };
            findings.extend(line.offers.iter().filter(is_too_much).map(|offer| {
                let what = format!("Gres={} of {}: the largest Pod has {ipus} IPUs", offer.text, line.nodes);
                Finding::warning(
                    &line.place,
                    what,
                    format!("write Gres=vipu:{}:no_consume:{most}", model.name),
                )
            }));
        }
        if let Some(line) = model.max_ipus_line.filter(|_| own.max_ipus_per_job as usize > ipus) {
            let what = format!("MaxIpusPerJob={}: the largest Pod has {ipus} IPUs", own.max_ipus_per_job);
            let fix = format!("write MaxIpusPerJob={}", 1_usize << ipus.ilog2());
            let finding = Finding::warning(format!("{}:{line}", model.file), what, fix);
            // Several models may have one file.
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

fn of_nodes(line: &Offering) -> Vec<Finding> {
    // The word is one flag for all models of a node.
    let is_no_consume = line.offers.iter().any(|offer| offer.is_no_consume);
    let wrong = line.offers.iter().filter_map(|offer| Some((offer, fault(offer, is_no_consume)?)));
    let finding = |(offer, (what, good)): (&Offer, (String, String))| {
        let what = format!("Gres={} of {} {what}", offer.text, line.nodes);
        Finding::error(&line.place, what, format!("write Gres={good}"))
    };
    // A missing no_consume is one fault of the whole line.
    let found: Vec<_> = wrong.map(finding).collect();
    if is_no_consume { found } else { found.into_iter().take(1).collect() }
}

/// What is wrong with an element, and the element to write.
fn fault(offer: &Offer, is_no_consume: bool) -> Option<(String, String)> {
    let count = offer.count.as_deref().unwrap_or("<IPUs of the Pod>");
    let good = |of: &str, count: &str| format!("vipu:{of}:no_consume:{count}");
    let Some(model) = offer.model.as_deref() else {
        return Some(("has no model, so that no job gets its IPUs".into(), good("<model>", count)));
    };
    let number = offer.count.as_ref().and_then(|count| count.parse::<u64>().ok());
    let wrong = match GresType::new(model) {
        Err(why) => Some((format!("has no usable model: {why}"), good("<model>", count))),
        Ok(GresType::Size(ipus)) => match (IpuCount::new(ipus), number) {
            (Err(why), _) => {
                let what = format!("has no usable size of partitions: {why}");
                Some((what, good("<IPUs of a partition>", count)))
            }
            (Ok(_), None) => Some(("has no number of partitions".into(), good(model, "<partitions>"))),
            (Ok(_), Some(_)) => None,
        },
        Ok(GresType::Model(_)) => match number.map(IpuCount::new) {
            None => Some(("has no number of IPUs".into(), good(model, "<IPUs of the Pod>"))),
            Some(Err(NotASize::NotPowerOfTwo { above, .. })) => {
                let what = format!("has {count} IPUs, which is not a power of two");
                Some((what, good(model, &above.to_string())))
            }
            Some(Err(why)) => {
                Some((format!("has no usable number: {why}"), good(model, "<IPUs of the Pod>")))
            }
            Some(Ok(_)) => None,
        },
    };
    let lacks = "lacks no_consume, so that jobs wait for one another's IPUs although some are free";
    wrong.or_else(|| (!is_no_consume).then(|| (lacks.into(), good(model, count))))
}
