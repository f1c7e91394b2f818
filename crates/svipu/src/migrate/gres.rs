//! `Gres=` of a node in the form that slurm-vipu needs.

use vipu_types::{consumable_element, ipu_elements, offered_model, with_no_consume};

/// The new value, if the old one has to change.
pub(super) fn migrated(gres: &str) -> Option<String> {
    if is_static(gres) {
        return Some(with_one_model(gres, ipu_elements(gres).filter_map(static_ipus).sum()));
    }
    let first = consumable_element(gres).filter(|element| offered_model(element).is_ok())?;
    let new = with_no_consume(first)?;
    Some(gres.replacen(&format!("vipu:{first}"), &format!("vipu:{new}"), 1))
}

/// Whether the value names partitions that an administrator has made.
pub(super) fn is_static(gres: &str) -> bool {
    let mut ipus = ipu_elements(gres).map(static_ipus).peekable();
    ipus.peek().is_some() && ipus.all(|ipus| ipus.is_some())
}

/// The IPUs of an element `<IPUs of a partition>:<partitions>`.
fn static_ipus(element: &str) -> Option<u32> {
    let (size, count) = element.split_once(':')?;
    size.parse::<u32>().ok()?.checked_mul(count.parse().ok()?).filter(|ipus| *ipus <= 1 << 20)
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
            ("vipu:64", None),
            ("vipu:4294967295:4294967295", None),
            ("gpu:1", None),
        ] {
            assert_eq!(migrated(old).as_deref(), new, "{old}");
        }
    }
}
