//! The selector in slurm.conf.

use slurm_release::Series;
use vipu_conf::Layer;

use crate::facts::Facts;
use crate::finding::Finding;

/// The word that put the vendor's selector over cons_tres.
const OTHER: &str = "other_cons_tres";

/// SelectType is the selector of slurm-vipu.
pub(super) fn select_type(facts: &Facts) -> Vec<Finding> {
    match facts.slurm.value("SelectType") {
        Some("select/vipu" | "select/vipu_cons_tres") => Vec::new(),
        given => {
            let what = match given {
                Some(given) => format!("SelectType is {given}, so that no job gets IPUs"),
                None => "SelectType is not given, so that no job gets IPUs".to_owned(),
            };
            vec![Finding::error(facts.slurm.place("SelectType"), what, "write SelectType=select/vipu")]
        }
    }
}

/// SelectTypeParameters are what this release wants. 24.05 was the first that wants some.
pub(super) fn parameters(facts: &Facts) -> Vec<Finding> {
    let (slurm, key) = (&facts.slurm, "SelectTypeParameters");
    let is_strict = facts.plugins.release.is_some_and(|release| release.series() >= Series::new(24, 5));
    let place = slurm.place(key);
    match slurm.value(key) {
        None if is_strict => {
            let what = format!("{key} is not given, and Slurm from 24.05 on needs it with select/vipu");
            vec![Finding::error(place, what, format!("write {key}=CR_CPU"))]
        }
        Some(_) if is_strict && slurm.lists(key, OTHER) => {
            let what = format!("{key} has {OTHER}, which Slurm from 24.05 on refuses");
            vec![Finding::error(place, what, format!("leave {OTHER} out"))]
        }
        _ => Vec::new(),
    }
}

/// Nothing overrides `Layer=linear`.
pub(super) fn layer(facts: &Facts) -> Vec<Finding> {
    let slurm = &facts.slurm;
    let is_overridden = slurm.lists("SelectTypeParameters", OTHER)
        && facts.plugins.release.is_some_and(|release| release.series() <= Series::new(23, 11));
    match facts.layer {
        Some(Layer::Linear) if is_overridden => {
            let what = format!("{OTHER} overrides Layer=linear of vipu.conf");
            let place = slurm.place("SelectTypeParameters");
            vec![Finding::error(place, what, format!("leave {OTHER} out, or Layer=linear"))]
        }
        _ => Vec::new(),
    }
}
