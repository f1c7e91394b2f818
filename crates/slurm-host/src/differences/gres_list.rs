//! How Slurm writes a GRES request into `tres_per_node`: as `gres:<name>...` up to 23.02, as `gres/<name>...`
//! since.

use slurm_release::Series;

use crate::running_release::loaded;

/// What `--gres=none` is kept as.
const NONE: &str = "NONE";

/// The list with this element (`vipu:pod64:16`) added to it.
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
    fn an_element_is_added_behind_those_that_are_there() {
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
