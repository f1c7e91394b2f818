//! `Gres=` of a node in the form that slurm-vipu needs.

use vipu_types::{GresType, OfferedModels, consumable_element, ipu_elements, offered, with_no_consume};

/// The new value, if the old one has to change. `keeps_sizes` says that static partitions become a pool.
pub(super) fn migrated(gres: &str, keeps_sizes: bool) -> Option<String> {
    if is_static(gres) && !keeps_sizes {
        return Some(with_one_model(gres, static_partitions(gres).map(|(size, count)| size * count).sum()));
    }
    let first = consumable_element(gres).filter(|element| OfferedModels::default().add(element).is_ok())?;
    let new = with_no_consume(first)?;
    Some(gres.replacen(&format!("vipu:{first}"), &format!("vipu:{new}"), 1))
}

/// Whether the value names partitions that an administrator has made.
pub(super) fn is_static(gres: &str) -> bool {
    let all = ipu_elements(gres).count();
    all > 0 && static_partitions(gres).count() == all
}

/// The static partitions: the IPUs of one, and how many there are.
pub(super) fn static_partitions(gres: &str) -> impl Iterator<Item = (u32, u32)> {
    ipu_elements(gres).filter_map(|element| match offered(element).ok()? {
        (GresType::Size(size), count) => {
            let size = u32::try_from(size).ok()?;
            size.checked_mul(count).filter(|ipus| *ipus <= 1 << 20).map(|_| (size, count))
        }
        (GresType::Model(_), _) => None,
    })
}

/// The value with one model in place of all elements with IPUs.
fn with_one_model(gres: &str, ipus: u32) -> String {
    let others = gres.split(',').filter(|element| !element.trim().starts_with("vipu:"));
    let others = others.map(ToOwned::to_owned);
    others.chain([format!("vipu:pod{ipus}:no_consume:{ipus}")]).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_migrate_gres_of_nodes() {
        for (old, new) in [
            ("vipu:16:4", Some("vipu:pod64:no_consume:64")),
            ("vipu:16:2,gpu:1,vipu:4:8", Some("gpu:1,vipu:pod64:no_consume:64")),
            ("gpu:1,vipu:pod64:64", Some("gpu:1,vipu:pod64:no_consume:64")),
            ("vipu:pod64:no_consume:64", None),
            ("vipu:pod64:no_consume:64,vipu:pod16:16", None),
            ("vipu:16:no_consume:4", Some("vipu:pod64:no_consume:64")),
            ("vipu:64", None),
            ("vipu:4294967295:4294967295", None),
            ("gpu:1", None),
        ] {
            assert_eq!(migrated(old, false).as_deref(), new, "{old}");
        }
        for (old, new) in [
            ("vipu:16:2,gpu:1,vipu:4:8", Some("vipu:16:no_consume:2,gpu:1,vipu:4:8")),
            ("vipu:16:no_consume:4", None),
            ("vipu:pod64:64", Some("vipu:pod64:no_consume:64")),
        ] {
            assert_eq!(migrated(old, true).as_deref(), new, "{old}");
        }
    }
}
