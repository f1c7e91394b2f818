//! Ways to break the healthy host.

use std::fmt::Write as _;

use super::tree::Tree;
use crate::facts::Facts;

pub(crate) const SLURM: &str = "/etc/slurm/slurm.conf";
pub(crate) const VIPU: &str = "/etc/slurm/vipu.conf";
pub(crate) const STACK: &str = "/etc/slurm/plugstack.conf";

/// A way to break the host: its name, a change of the tree, and one of the facts.
pub(crate) type Way<'a> = (&'a str, fn(&mut Tree), fn(&mut Facts));

/// The findings of all ways, one line each.
#[track_caller]
pub(crate) fn each_has_one_finding(ways: &[Way<'_>]) -> String {
    let mut text = String::new();
    for (name, breaks, changes) in ways {
        let mut tree = Tree::healthy();
        breaks(&mut tree);
        let lines = tree.lines(&tree.examine_with(changes));
        assert_eq!(lines.lines().count(), 1, "{name}:\n{lines}");
        let _ = write!(text, "{name}:\n  {lines}");
    }
    text
}

pub(crate) fn unchanged(_: &mut Facts) {}
