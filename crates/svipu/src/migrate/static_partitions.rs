//! `Gres=` of nodes: partitions that an administrator has made, and models without `no_consume`.

use std::collections::BTreeMap;

use slurm_conf::SlurmConf;
use vipu_types::{GresType, OfferedModels, consumable_element, ipu_elements, offered, with_no_consume};

/// The partitions that an administrator has made.
pub(super) struct StaticPartitions {
    /// Their sizes, and how many a node has of each at most.
    pub(super) pool: BTreeMap<u32, u32>,
    /// The size of a Pod for all partitions of one node. They become one model.
    ipus: u32,
}

impl StaticPartitions {
    /// Those of a slurm.conf, if there are any.
    pub(super) fn of(conf: &SlurmConf) -> Option<Self> {
        let pairs = conf.all("NodeName").flat_map(|line| &line.more).filter(|pair| pair.is("Gres"));
        let mut all = Self { pool: BTreeMap::new(), ipus: 0 };
        for pair in pairs.filter(|pair| is_static(&pair.value)) {
            for (size, count) in partitions(&pair.value) {
                let most = all.pool.entry(size).or_insert(count);
                *most = count.max(*most);
            }
            all.ipus = all.ipus.max(smallest_pod(&pair.value));
        }
        (!all.pool.is_empty()).then_some(all)
    }

    /// What has to be done about them, if they become one model.
    pub(super) fn note(&self) -> String {
        let (ipus, size) = (self.ipus, self.pool.keys().last().copied().unwrap_or_default());
        format!(
            "partitions made in advance: remove them on the controller; jobs ask for --gres=vipu:pod{ipus}:{size} (model and IPUs), not \
             for vipu:{size}:1 (svipu migrate --pool keeps them, and requests such as vipu:{size}:1); {ipus} is the smallest Pod with room for \
             the partitions of a node: if the Pod has another number of IPUs, write that into the diff"
        )
    }
}

/// The new `Gres=` of a node, if the old one has to change. Partitions become one model if they are given, or else a
/// pool.
pub(super) fn migrated(gres: &str, to_model: Option<&StaticPartitions>) -> Option<String> {
    if let Some(StaticPartitions { ipus, .. }) = to_model.filter(|_| is_static(gres)) {
        let others = gres.split(',').filter(|element| !element.trim().starts_with("vipu:"));
        let others = others.map(ToOwned::to_owned);
        return Some(
            others.chain([format!("vipu:pod{ipus}:no_consume:{ipus}")]).collect::<Vec<_>>().join(","),
        );
    }
    let first = consumable_element(gres).filter(|element| OfferedModels::default().add(element).is_ok())?;
    let new = with_no_consume(first)?;
    Some(gres.replacen(&format!("vipu:{first}"), &format!("vipu:{new}"), 1))
}

/// The IPUs of the smallest Pod with room for the partitions of a node: a power of two, as `Gres=` of a model needs.
fn smallest_pod(gres: &str) -> u32 {
    partitions(gres).map(|(size, count)| size * count).sum::<u32>().next_power_of_two()
}

/// Whether the value names partitions that an administrator has made.
fn is_static(gres: &str) -> bool {
    let all = ipu_elements(gres).count();
    all > 0 && partitions(gres).count() == all
}

/// The static partitions: the IPUs of one, and how many there are.
fn partitions(gres: &str) -> impl Iterator<Item = (u32, u32)> {
    ipu_elements(gres).filter_map(|element| match offered(element).ok()? {
        (GresType::Size(size), count) => {
            let size = u32::try_from(size).ok()?;
            size.checked_mul(count).filter(|ipus| *ipus <= 1 << 20).map(|_| (size, count))
        }
        (GresType::Model(_), _) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_migrate_gres_of_nodes() {
        assert_eq!(["vipu:16:4", "vipu:16:3", "vipu:4:2,vipu:1:1"].map(smallest_pod), [64, 64, 16]);
        let pod = StaticPartitions { pool: BTreeMap::new(), ipus: 64 };
        for (old, new) in [
            ("vipu:16:4", Some("vipu:pod64:no_consume:64")),
            ("vipu:2:8", Some("vipu:pod64:no_consume:64")),
            ("vipu:16:2,gpu:1,vipu:4:8", Some("gpu:1,vipu:pod64:no_consume:64")),
            ("gpu:1,vipu:pod64:64", Some("gpu:1,vipu:pod64:no_consume:64")),
            ("vipu:pod64:no_consume:64", None),
            ("vipu:pod64:no_consume:64,vipu:pod16:16", None),
            ("vipu:16:no_consume:4", Some("vipu:pod64:no_consume:64")),
            ("vipu:64", None),
            ("vipu:4294967295:4294967295", None),
            ("gpu:1", None),
        ] {
            assert_eq!(migrated(old, Some(&pod)).as_deref(), new, "{old}");
        }
        for (old, new) in [
            ("vipu:16:2,gpu:1,vipu:4:8", Some("vipu:16:no_consume:2,gpu:1,vipu:4:8")),
            ("vipu:16:no_consume:4", None),
            ("vipu:pod64:64", Some("vipu:pod64:no_consume:64")),
        ] {
            assert_eq!(migrated(old, None).as_deref(), new, "{old}");
        }
    }
}
