//! The configuration files as slurm-vipu needs them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use slurm_conf::{Line, SlurmConf};
use vipu_conf::Settings;
use vipu_types::{GresType, OfferedModels, consumable_element, ipu_elements, offered, with_no_consume};

use super::edits::Edits;
use super::{Change, Found, Plan, scripts, text};
use crate::error::Failure;

/// The directory of the IPUoF files, if no file names one.
const IPUOF_DIR: &str = "/shared/ipuof";

/// The controller, if no file names one.
const CONTROLLER: &str = "vipu-controller.example.org";

/// Our SPANK plugin.
const SPANK: &str = "spank_ipuof.so";

/// Plans all changes.
pub(super) fn plan(found: &Found) -> Result<Plan, Failure> {
    let mut plan = Plan::default();
    plan.notes.extend(found.conf.problems.iter().map(ToString::to_string));
    plan.notes.extend(found.unreadable.iter().map(ToString::to_string));
    plan.notes.extend(found.scripts.iter().map(scripts::Script::note));
    if found.has_allocs {
        let note = format!(
            "{}: needed no more, because IPUs belong to no host; if yours do, write Mode=host and HostMap into vipu.conf",
            scripts::ALLOCS
        );
        plan.notes.push(note);
    }
    slurm_conf(found, &mut plan)?;
    gres_conf(found, &mut plan)?;
    plugstack_conf(found, &mut plan)?;
    vipu_conf(found, &mut plan)?;
    Ok(plan)
}

fn ipuof_dir(found: &Found) -> &str {
    let ours = found.plugstack.plugin(SPANK).and_then(|plugin| plugin.argument("ipuof_dir"));
    found.conf.value("VipuIpuofDir").or(ours).unwrap_or(IPUOF_DIR)
}

fn slurm_conf(found: &Found, plan: &mut Plan) -> Result<(), Failure> {
    let Some(main) = found.conf.files.first().cloned() else { return Ok(()) };
    let mut has_ipus = false;
    for file in &found.conf.files {
        let old = text(file)?.unwrap_or_default();
        let mut edits = Edits::default();
        let own = |line: &&Line| line.place.file == *file;
        for (key, value) in values(&found.conf) {
            match found.conf.line(key) {
                Some(line) if own(&line) && line.pair.value != value => {
                    edits.replace(&old, line, &line.pair.value, &value);
                }
                None if Arc::ptr_eq(file, &main) => edits.add(format!("{key}={value}")),
                _ => {}
            }
        }
        found.conf.all("VipuIpuofDir").filter(own).for_each(|line| edits.remove(line));
        let needless = found.scripts.iter().filter_map(|script| script.needless.as_ref());
        needless.filter(own).for_each(|line| edits.remove(line));
        for line in found.conf.all("NodeName").filter(own) {
            for pair in line.more.iter().filter(|pair| pair.is("Gres")) {
                has_ipus |= vipu_types::ipu_elements(&pair.value).next().is_some();
                if let Some(new) = migrated(&pair.value, found.keeps_sizes) {
                    edits.replace(&old, line, &pair.value, &new);
                }
            }
        }
        let new = edits.apply(&old);
        plan.changes.push(Change { path: file.to_path_buf(), old: Some(old), new });
    }
    let to_pool = "(svipu migrate --pool keeps them, and requests such as vipu:16:1)";
    plan.notes.extend((!found.keeps_sizes && !static_pool(&found.conf).is_empty()).then(|| {
        format!(
            "partitions made in advance: remove them on the controller; jobs ask for --gres=vipu:pod64:16 (model and IPUs), not for \
             vipu:16:1 {to_pool}"
        )
    }));
    if !has_ipus {
        plan.notes.push(
            "no node has IPUs: add Gres=vipu:<model>:no_consume:<IPUs of a Pod> to the nodes that reach a Pod; svipu conf generate asks the controller for the number".into(),
        );
    }
    Ok(())
}

/// The partitions that were made in advance: their sizes, and how many a node has of each.
fn static_pool(conf: &SlurmConf) -> BTreeMap<u32, u32> {
    let pairs = conf.all("NodeName").flat_map(|line| &line.more).filter(|pair| pair.is("Gres"));
    let mut pool = BTreeMap::new();
    for (size, count) in
        pairs.filter(|pair| is_static(&pair.value)).flat_map(|pair| static_partitions(&pair.value))
    {
        let most = pool.entry(size).or_insert(count);
        *most = count.max(*most);
    }
    pool
}

/// The values that slurm.conf needs.
fn values(conf: &SlurmConf) -> Vec<(&'static str, String)> {
    let old = |key| conf.value(key).unwrap_or_default();
    let mut values = Vec::new();
    if !old("SelectType").starts_with("select/vipu") {
        values.push(("SelectType", "select/vipu".to_owned()));
    }
    let parameters = old("SelectTypeParameters").split(',');
    let is_other = |word: &&str| word.trim().to_ascii_lowercase().starts_with("other_cons");
    if parameters.clone().any(|word| is_other(&word)) {
        let kept: Vec<_> = parameters.filter(|word| !is_other(word)).collect();
        let kept = if kept.is_empty() { "CR_CPU".to_owned() } else { kept.join(",") };
        values.push(("SelectTypeParameters", kept));
    }
    values.push(("GresTypes", with_word(old("GresTypes"), "vipu")));
    values.push(("JobSubmitPlugins", with_word(old("JobSubmitPlugins"), "vipu")));
    if conf.value("PropagateResourceLimits").is_none() {
        let list = with_word(old("PropagateResourceLimitsExcept"), "MEMLOCK");
        values.push(("PropagateResourceLimitsExcept", list));
    }
    values
}

/// The list with a word at its end, if it lacks the word.
fn with_word(list: &str, word: &str) -> String {
    let has = list.split(',').any(|one| one.trim().rsplit('/').next() == Some(word) || one.trim() == "ALL");
    match list {
        "" => word.to_owned(),
        list if has => list.to_owned(),
        list => format!("{list},{word}"),
    }
}

/// IPUs need no line in gres.conf.
fn gres_conf(found: &Found, plan: &mut Plan) -> Result<(), Failure> {
    let Some(old) = text(&found.gres_path)? else { return Ok(()) };
    let mut edits = Edits::default();
    let of_ipus = |line: &&Line| {
        let mut pairs = line.more.iter().chain([&line.pair]);
        *line.place.file == *found.gres_path && pairs.any(|pair| pair.is("Name") && pair.value == "vipu")
    };
    found.gres.lines.iter().filter(of_ipus).for_each(|line| edits.remove(line));
    let new = edits.apply(&old);
    plan.changes.push(Change { path: found.gres_path.clone(), old: Some(old), new });
    Ok(())
}

fn plugstack_conf(found: &Found, plan: &mut Plan) -> Result<(), Failure> {
    if found.plugstack.plugin(SPANK).is_some() {
        return Ok(());
    }
    let others = found.plugstack.plugins.iter().filter(|plugin| plugin.file_name().contains("vipu"));
    plan.notes.extend(others.map(|plugin| {
        format!(
            "{}: take {} out if it is the vendor's: its options collide with ours",
            plugin.place, plugin.path
        )
    }));
    let old = text(&found.plugstack_path)?;
    let mut edits = Edits::default();
    edits.add(format!("required {SPANK} ipuof_dir={}", ipuof_dir(found)));
    let new = edits.apply(old.as_deref().unwrap_or_default());
    plan.changes.push(Change { path: found.plugstack_path.clone(), old, new });
    Ok(())
}

fn vipu_conf(found: &Found, plan: &mut Plan) -> Result<(), Failure> {
    let old = text(&found.vipu_conf)?;
    if old.is_none() && found.has_own_files {
        return Ok(());
    }
    let before = old.as_deref().unwrap_or_default();
    let listed = vipu_conf::listed(before);
    let has = |key: &str| listed.iter().any(|entry| entry.key.name == key && entry.line.is_some());
    let mut edits = Edits::default();
    if !has("ApiHost") {
        let (host, note) = match &found.settings.host {
            Some((host, place)) => (host.as_str(), format!("the controller's address is from {place}")),
            None => (CONTROLLER, "no file names the controller: write its name for ApiHost".to_owned()),
        };
        plan.notes.push(note);
        edits.add(format!("ApiHost={host}"));
        let port = found.settings.port.as_deref().filter(|port| *port != "8090" && !has("ApiPort"));
        port.into_iter().for_each(|port| edits.add(format!("ApiPort={port}")));
    }
    if !has("IpuofDir") {
        edits.add(format!("IpuofDir={}", ipuof_dir(found)));
    }
    let pool: Vec<_> =
        static_pool(&found.conf).iter().map(|(size, count)| format!("{size}x{count}")).collect();
    if found.keeps_sizes && !pool.is_empty() && !has("Mode") {
        let pool = pool.join(",");
        edits.add("Mode=pool".to_owned());
        edits.add(format!("Pool={pool}"));
        plan.notes.push(format!(
            "Pool={pool}: slurm-vipu makes these partitions; to use those that exist, write their names instead, as in Pool=p16_*"
        ));
    }
    if found.conf.value("SelectType").is_some_and(|select| select.ends_with("/linear")) && !has("Layer") {
        edits.add("Layer=linear".to_owned());
        plan.notes.push("every host needs vipu.conf, because of Layer=linear".to_owned());
    }
    if let Some(file) = found.settings.key_in.as_ref().filter(|_| !has("ApiAccessFile")) {
        plan.notes.push(format!("{file} has an access key: copy it into a file for ApiAccessFile"));
    }
    let new = edits.apply(before);
    // Keys of the vendor's plugin that ours does not know, for example.
    let errors = Settings::parse(&new, Path::new("vipu.conf")).err();
    plan.notes.extend(errors.map(|why| format!("vipu.conf needs more: {}", why.one_line())));
    plan.changes.push(Change { path: found.vipu_conf.clone(), old, new });
    Ok(())
}

/// The new value, if the old one has to change. `keeps_sizes` says that static partitions become a pool.
fn migrated(gres: &str, keeps_sizes: bool) -> Option<String> {
    if is_static(gres) && !keeps_sizes {
        return Some(with_one_model(gres, static_partitions(gres).map(|(size, count)| size * count).sum()));
    }
    let first = consumable_element(gres).filter(|element| OfferedModels::default().add(element).is_ok())?;
    let new = with_no_consume(first)?;
    Some(gres.replacen(&format!("vipu:{first}"), &format!("vipu:{new}"), 1))
}

/// Whether the value names partitions that an administrator has made.
fn is_static(gres: &str) -> bool {
    let all = ipu_elements(gres).count();
    all > 0 && static_partitions(gres).count() == all
}

/// The static partitions: the IPUs of one, and how many there are.
fn static_partitions(gres: &str) -> impl Iterator<Item = (u32, u32)> {
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
