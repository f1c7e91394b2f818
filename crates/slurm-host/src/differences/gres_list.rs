//! Slurm writes a GRES request into `tres_per_node` as `gres:<name>...` up to 23.02, and as `gres/<name>...`
//! from 23.11 on.

use slurm_release::Series;

use crate::running_release::loaded;

/// The text that Slurm keeps for `--gres=none`.
const NONE: &str = "NONE";

/// Returns the list with this element (`vipu:pod64:16`) added.
pub(crate) fn with(list: Option<&str>, element: &str) -> String {
    let slash = loaded().is_ok_and(|loaded| loaded.release.version.series() >= Series::new(23, 11));
    add(list, if slash { "gres/" } else { "gres:" }, element)
}

fn add(list: Option<&str>, prefix: &str, element: &str) -> String {
    match list.filter(|list| !list.is_empty() && !list.eq_ignore_ascii_case(NONE)) {
        Some(list) => format!("{list},{prefix}{element}"),
        None => format!("{prefix}{element}"),
    }
}

#[cfg(test)]
mod tests {
    use super::add;

    #[test]
    fn an_element_is_added_at_the_end() {
        for (list, all) in [
            (None, "gres:vipu:4"),
            (Some(""), "gres:vipu:4"),
            (Some("NONE"), "gres:vipu:4"),
            (Some("gres:gpu:2"), "gres:gpu:2,gres:vipu:4"),
        ] {
            assert_eq!(add(list, "gres:", "vipu:4"), all);
        }
    }
}
