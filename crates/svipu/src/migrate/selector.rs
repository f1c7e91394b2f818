//! The selector: what the site has, and what it becomes. Jobs share nodes as before.

use slurm_conf::SlurmConf;
use slurm_release::{Series, Version};
use vipu_types::{Words, words};

/// The first series in which a slurm.conf without SelectType means select/cons_tres. Before, it means select/linear.
const CONS_TRES_IS_DEFAULT: Series = Series::new(23, 11);

/// The parameters that select/cons_tres takes of its own accord, up to 23.11 over whatever name of the selector, and
/// later only if the name has cons_tres in it.
const PARAMETERS: &str = "CR_Core_Memory";

/// The selector as slurm-vipu needs it.
pub(super) struct Selector {
    /// The lines of slurm.conf that differ from what is there.
    pub(super) values: Vec<(&'static str, String)>,
    /// Whether vipu.conf has to name select/linear as the layer below.
    pub(super) is_linear: bool,
    pub(super) notes: Vec<String>,
}

impl Selector {
    /// That of a site. The release matters for a slurm.conf without SelectType.
    pub(super) fn of(conf: &SlurmConf, release: Option<Version>) -> Result<Self, Words> {
        let given = conf.value("SelectType");
        let is_ours = given.is_some_and(|given| given.starts_with("select/vipu"));
        let (old, by_default) = match (given, release) {
            (Some(given), _) => (given, String::new()),
            (None, Some(release)) => {
                let is_new = release.series() >= CONS_TRES_IS_DEFAULT;
                let default = if is_new { "select/cons_tres" } else { "select/linear" };
                (default, format!(" (the default of Slurm {release})"))
            }
            (None, None) => {
                return Err(words!(
                    "it has no SelectType, and PluginDir has no select_cons_tres.so that tells the release and so the \
                     default: write the line SelectType=... with the value of scontrol show config into it, and run \
                     svipu migrate again"
                ));
            }
        };
        let is_linear = old == "select/linear";
        let mut notes = Vec::new();
        let mut values = Vec::new();
        let new = match conf.needs_cons_tres() {
            Some(key) if given != Some("select/vipu_cons_tres") => {
                notes.push(format!(
                    "SelectType=select/vipu_cons_tres, because Slurm takes {key} with no other name: install select_vipu.so as \
                     select_vipu_cons_tres.so on each host"
                ));
                "select/vipu_cons_tres"
            }
            _ if is_ours => old,
            _ => "select/vipu",
        };
        if given != Some(new) {
            values.push(("SelectType", new.to_owned()));
        }
        let had = conf.value("SelectTypeParameters");
        let is_other = |word: &str| word.trim().to_ascii_lowercase().starts_with("other_cons");
        let kept =
            had.map(|list| list.split(',').filter(|word| !is_other(word)).collect::<Vec<_>>().join(","));
        let parameters = match kept.filter(|kept| !kept.is_empty()) {
            None if had.is_none() && (is_linear || is_ours) => None,
            kept => Some(kept.unwrap_or_else(|| PARAMETERS.to_owned())),
        };
        if parameters.as_deref() != had {
            values.extend(parameters.clone().map(|parameters| ("SelectTypeParameters", parameters)));
        }
        if !is_ours {
            let list = |list: Option<&str>| match list {
                Some(list) => format!("SelectTypeParameters={list}"),
                None => "no SelectTypeParameters".to_owned(),
            };
            let layer = if is_linear {
                "select/linear (Layer=linear in vipu.conf, on every host)"
            } else {
                "select/cons_tres"
            };
            let same = ["select/linear", "select/cons_res", "select/cons_tres"].contains(&old);
            let sharing = if same { ": jobs share nodes as before" } else { "" };
            notes.push(format!(
                "SelectType={old}{by_default} with {} becomes {new} over {layer} with {}{sharing}",
                list(had),
                list(parameters.as_deref())
            ));
        }
        Ok(Self { values, is_linear, notes })
    }
}
