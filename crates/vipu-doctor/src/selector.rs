//! The selector in slurm.conf.

use slurm_release::{Series, Version};
use vipu_conf::Layer;

use crate::finding::Finding;
use crate::host::Host;
use crate::slurm_conf::Slurm;

/// The word that put the vendor's selector over cons_tres.
const OTHER: &str = "other_cons_tres";

/// The words of SelectTypeParameters that a release knows (source: `_parse_select_type_param` in Slurm's `read_config.c`,
/// 22.05 to 26.05).
const WORDS: [&str; 19] = [
    "CR_ALLOCATE_FULL_SOCKET",
    "CR_CORE_DEFAULT_DIST_BLOCK",
    "CR_CPU",
    "CR_CPU_Memory",
    "CR_Core",
    "CR_Core_Memory",
    "CR_LLN",
    "CR_Memory",
    "CR_NO_DIST_TOPO_BLOCK",
    "CR_ONE_TASK_PER_CORE",
    "CR_PACK_NODES",
    "CR_Socket",
    "CR_Socket_Memory",
    "ENFORCE_BINDING_GRES",
    "LL_SHARED_GRES",
    "MULTIPLE_SHARING_GRES_PJ",
    "ONE_TASK_PER_SHARING_GRES",
    "other_cons_res",
    OTHER,
];

/// SelectType is the selector of slurm-vipu.
pub(crate) fn select_type(slurm: &Slurm) -> Option<Finding> {
    let needs_cons_tres = slurm.conf.needs_cons_tres();
    let what = match (slurm.value("SelectType"), needs_cons_tres) {
        (Some("select/vipu"), Some(key)) => {
            format!("SelectType is select/vipu, and with {key} Slurm ends unless its name contains cons_tres")
        }
        (Some("select/vipu" | "select/vipu_cons_tres"), _) => return None,
        (Some(given), _) => format!("SelectType is {given}, so that no job gets IPUs"),
        (None, _) => "SelectType is not given, so that no job gets IPUs".to_owned(),
    };
    let fix = match needs_cons_tres.is_some() {
        true => {
            "write SelectType=select/vipu_cons_tres, and install select_vipu.so as select_vipu_cons_tres.so (docs/releases.md#selecttypeselectvipu_cons_tres)"
        }
        false => "write SelectType=select/vipu",
    };
    Some(Finding::error(slurm.place("SelectType"), what, fix))
}

/// SelectTypeParameters are what this release wants. 24.05 was the first that wants some, except over select/linear.
pub(crate) fn parameters(host: &Host<'_>, slurm: &Slurm, release: Option<Version>) -> Option<Finding> {
    let key = "SelectTypeParameters";
    let is_strict = release.is_some_and(|release| release.series() >= Series::new(24, 5));
    let place = slurm.place(key);
    match slurm.value(key) {
        // Slurm has a default for each name with cons_tres.
        None if is_strict && slurm.value("SelectType") == Some("select/vipu") && !is_linear(host, slurm) => {
            let what = format!("{key} is not given, and Slurm from 24.05 on needs it with select/vipu");
            Some(Finding::error(
                place,
                what,
                format!("write {key}=CR_Core_Memory, the default of select/cons_tres"),
            ))
        }
        Some(_) if is_strict && slurm.lists(key, OTHER) => {
            let what = format!("{key} has {OTHER}, which Slurm from 24.05 on refuses");
            Some(Finding::error(place, what, format!("leave {OTHER} out")))
        }
        _ => None,
    }
}

/// Slurm knows the words of SelectTypeParameters.
pub(crate) fn words(slurm: &Slurm) -> Option<Finding> {
    let key = "SelectTypeParameters";
    let is_known = |word: &&str| WORDS.iter().any(|known| known.eq_ignore_ascii_case(word));
    // A comma too many is no word.
    let mut words = slurm.value(key)?.split(',').filter(|word| !word.is_empty());
    let unknown = words.find(|word| !is_known(word))?;
    let what = format!("{key} has {unknown}, which no Slurm knows, so that slurmctld does not start");
    Some(Finding::error(slurm.place(key), what, "correct the word, or leave it out"))
}

/// Nothing overrides `Layer=linear`.
pub(crate) fn layer(host: &Host<'_>, slurm: &Slurm, release: Option<Version>) -> Option<Finding> {
    let is_overridden = slurm.lists("SelectTypeParameters", OTHER)
        && release.is_some_and(|release| release.series() <= Series::new(23, 11));
    if !is_overridden || !is_linear(host, slurm) {
        return None;
    }
    let what = format!("{OTHER} overrides Layer=linear of vipu.conf");
    let place = slurm.place("SelectTypeParameters");
    Some(Finding::error(place, what, format!("leave {OTHER} out, or Layer=linear")))
}

fn is_linear(host: &Host<'_>, slurm: &Slurm) -> bool {
    vipu_conf::layer_of(&host.at(slurm.folder())) == Some(Layer::Linear)
}
