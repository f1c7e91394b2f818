//! The form of a GRES request in a job.

use super::is_since;

/// Returns the `tres_per_node` of a job with this element (`vipu:pod64:16`) added. Slurm writes a GRES request there as
/// `gres:<name>...` up to 23.02, and as `gres/<name>...` from 23.11 on.
pub(crate) fn with_gres(list: Option<&str>, element: &str) -> String {
    add(list, if is_since(23, 11) { "gres/" } else { "gres:" }, element)
}

fn add(list: Option<&str>, prefix: &str, element: &str) -> String {
    /// The text that Slurm keeps for `--gres=none`.
    const NONE: &str = "NONE";
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
