//! IPUs that a site counts under a name of its own, as a GRES or a licence.

use slurm_conf::{Line, Pair, SlurmConf};

/// A note about each place in slurm.conf and gres.conf that has a name of the site's own. The model and the requests of
/// jobs are decisions, so that the diff changes none of these places.
pub(super) fn notes(conf: &SlurmConf, gres: &SlurmConf) -> Vec<String> {
    let lines = conf.lines.iter().chain(&gres.lines);
    let pairs = lines.flat_map(|line| line.more.iter().chain([&line.pair]).map(move |pair| (line, pair)));
    pairs.flat_map(|(line, pair)| elements(&pair.value).filter_map(|found| note(line, pair, found))).collect()
}

fn note(line: &Line, pair: &Pair, found: &str) -> Option<String> {
    let what = match &*pair.key.to_ascii_lowercase() {
        "grestypes" => "take it out when neither nodes nor jobs name it any more".to_owned(),
        "gres" => "if these are IPUs of a Pod, write vipu:<model>:no_consume:<IPUs of the Pod> in its place (svipu conf generate asks \
                   the controller for the number); jobs write --ipus=16"
            .to_owned(),
        "name" => "take the line out together with the GRES of the nodes: IPUs of a Pod need none".to_owned(),
        "licenses" => format!(
            "take it out, as slurm-vipu counts the IPUs and can add a licence of its own (docs/accounting.md#the-licence); jobs write \
             --ipus=16 in place of -L {}",
            name(found)
        ),
        "accountingstoragetres" => "write gres/vipu in its place".to_owned(),
        _ => return None,
    };
    Some(format!("{}: {found} in {}: {what}", line.place, pair.key))
}

/// The elements of a list, such as `ipu:16`, whose name is about IPUs and not of slurm-vipu.
pub(super) fn elements(list: &str) -> impl Iterator<Item = &str> {
    list.split([',', ';']).map(str::trim).filter(|element| {
        let name = name(element);
        !name.starts_with("vipu") && is_about_ipus(name)
    })
}

/// The name in `ipu:16`, `ipu@server:16` or `gres/ipu=16`.
fn name(element: &str) -> &str {
    let whole = element.split([':', '=', '@']).next().unwrap_or_default();
    whole.rsplit('/').next().unwrap_or_default()
}

/// Whether a word of a text begins with `ipu`.
pub(super) fn is_about_ipus(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.starts_with("ipu"))
}
