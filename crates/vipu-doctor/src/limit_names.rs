//! The names in limits of vipu.conf.

use std::collections::{BTreeMap, BTreeSet};

use crate::accounting::Qos;
use crate::finding::Finding;
use crate::models::{ModelFile, settings};
use crate::slurm_conf::Slurm;

/// The names of Slurm partitions are in slurm.conf.
pub(crate) fn slurm_partitions(slurm: &Slurm, models: &[ModelFile]) -> Vec<Finding> {
    let known = slurm.partitions();
    let limits = settings(models).flat_map(|(model, own)| {
        [
            (model.file.as_str(), "IpusPerSlurmPartition", &own.ipus_per_slurm_partition),
            (model.file.as_str(), "MaxIpusPerJobInSlurmPartition", &own.max_ipus_in_slurm_partition),
        ]
    });
    unknown(limits, &known, "Slurm partition of slurm.conf")
}

/// The names of QOS are those of the database.
pub(crate) fn qos(qos: Option<&[Qos]>, models: &[ModelFile]) -> Vec<Finding> {
    let Some(known) = qos else { return Vec::new() };
    let known = known.iter().map(|qos| qos.name.clone()).collect();
    let limits = settings(models)
        .map(|(model, own)| (model.file.as_str(), "MaxIpusPerJobInQos", &own.max_ipus_in_qos));
    unknown(limits, &known, "QOS of the cluster")
}

fn unknown<'a>(
    limits: impl Iterator<Item = (&'a str, &'a str, &'a BTreeMap<String, u32>)>,
    known: &BTreeSet<String>,
    kind: &str,
) -> Vec<Finding> {
    let names = limits.flat_map(|(file, key, names)| names.keys().map(move |name| (file, key, name)));
    let wrong: BTreeSet<_> =
        names.filter(|(_, _, name)| !known.contains(&name.to_ascii_lowercase())).collect();
    let shown = known.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
    let finding = |(file, key, name): (&str, &str, &String)| {
        let what = format!("{key} limits {name}, which is no {kind}");
        Finding::warning(file, what, format!("write one of {shown}, or remove the name"))
    };
    wrong.into_iter().map(finding).collect()
}
