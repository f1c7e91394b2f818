//! The configuration files as slurm-vipu needs them.

use std::path::Path;
use std::sync::Arc;

use slurm_conf::{Edits, Line, Place};
use vipu_conf::Settings;

use super::static_partitions::{StaticPartitions, migrated};
use super::{Change, Found, Plan, other_names, scripts, text};
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
    plan.notes.extend(found.plugstack.problems.iter().map(ToString::to_string));
    plan.notes.extend(found.script_notes.iter().cloned());
    plan.notes.extend(other_names::notes(&found.conf, &found.gres));
    plan.notes.extend(found.selector.notes.iter().cloned());
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
    found.conf.value("VipuIpuofDir").or(ours).map_or(IPUOF_DIR, str::trim_end)
}

fn slurm_conf(found: &Found, plan: &mut Plan) -> Result<(), Failure> {
    let conf = &found.conf;
    let Some(main) = conf.files.first() else { return Ok(()) };
    let to_model = found.partitions.as_ref().filter(|_| !found.keeps_sizes);
    let mut values = found.selector.values.clone();
    values.push(("GresTypes", with_word(conf.value("GresTypes"), "vipu")));
    values.push(("JobSubmitPlugins", with_word(conf.value("JobSubmitPlugins"), "vipu")));
    let mut needless: Vec<_> = conf.all("VipuIpuofDir").collect();
    needless.extend(found.scripts.iter().filter_map(|script| script.needless.as_ref()));
    if let Some(memory) = conf.locked_memory() {
        if let Some(line) = memory.line.filter(|line| !line.pair.is("PropagateResourceLimitsExcept")) {
            let Line { place, pair, .. } = line;
            plan.notes.push(format!(
                "{place}: {}={} gives tasks the submit host's limit on locked memory, and RDMA needs the node's: it becomes {}={}",
                pair.key, pair.value, memory.key, memory.value
            ));
            needless.extend((!pair.is(memory.key)).then_some(line));
        }
        values.push((memory.key, memory.value));
    }
    let mut has_ipus = false;
    let is_first = |(index, file): &(usize, &Arc<Path>)| !conf.files[..*index].contains(file);
    for (_, file) in conf.files.iter().enumerate().filter(is_first) {
        let old = text(file)?.unwrap_or_default();
        let mut edits = Edits::new(&old);
        let own = |line: &&Line| line.place.file == *file;
        for (key, value) in &values {
            match conf.line(key) {
                Some(line) if own(&line) => edits.set(&line.pair, value),
                None if file == main => edits.add(&format!("{key}={value}")),
                _ => {}
            }
        }
        needless.iter().copied().filter(own).for_each(|line| edits.remove(&line.place, line.count));
        for line in conf.all("NodeName").filter(own) {
            for pair in line.more.iter().filter(|pair| pair.is("Gres")) {
                // A name of the site's own has a note of its own.
                has_ipus |= vipu_types::ipu_elements(&pair.value).next().is_some()
                    || other_names::elements(&pair.value).next().is_some();
                if let Some(new) = migrated(&pair.value, to_model) {
                    edits.set(pair, &new);
                }
            }
        }
        let new = edits.apply();
        plan.changes.push(Change { path: file.to_path_buf(), old: Some(old), new });
    }
    plan.notes.extend(to_model.map(StaticPartitions::note));
    if !has_ipus {
        plan.notes.push(
            "no node has IPUs: add Gres=vipu:<model>:no_consume:<IPUs of a Pod> to the nodes that reach a Pod; svipu conf generate asks the controller for the number".into(),
        );
    }
    if let Some(folders) = conf.value("PluginDir") {
        let has_ours = |folder: &str| Path::new(folder).join("spank_ipuof.so").exists();
        let note = format!(
            "PluginDir={folders} has no plugins of slurm-vipu here: write PluginDir=/usr/lib/slurm-vipu:{folders}, or link them into it with \
             slurm-vipu-setup --plugindir"
        );
        plan.notes.extend((!folders.split(':').any(has_ours)).then_some(note));
    }
    Ok(())
}

/// The list with a word at its end, if it lacks the word.
fn with_word(list: Option<&str>, word: &str) -> String {
    let has = |list: &str| list.split(',').any(|one| one.trim().rsplit('/').next() == Some(word));
    match list.unwrap_or_default() {
        "" => word.to_owned(),
        list if has(list) => list.to_owned(),
        list => format!("{list},{word}"),
    }
}

/// IPUs need no line in gres.conf.
fn gres_conf(found: &Found, plan: &mut Plan) -> Result<(), Failure> {
    let Some(old) = text(&found.gres_path)? else { return Ok(()) };
    let mut edits = Edits::new(&old);
    let of_ipus = |line: &&Line| {
        let mut pairs = line.more.iter().chain([&line.pair]);
        *line.place.file == *found.gres_path && pairs.any(|pair| pair.is("Name") && pair.value == "vipu")
    };
    found.gres.lines.iter().filter(of_ipus).for_each(|line| edits.remove(&line.place, line.count));
    let new = edits.apply();
    plan.changes.push(Change { path: found.gres_path.clone(), old: Some(old), new });
    Ok(())
}

/// Our line stands above all others, as a plugin that starts a container needs its variables.
fn plugstack_conf(found: &Found, plan: &mut Plan) -> Result<(), Failure> {
    let stack = &found.plugstack;
    if let Some(plugin) = stack.plugins.iter().find(|plugin| plugin.file_name().trim_end() == SPANK) {
        return without_cr(&plugin.place, plan);
    }
    let others = stack.plugins.iter().filter(|plugin| plugin.file_name().contains("vipu"));
    plan.notes.extend(others.map(|plugin| {
        format!(
            "{}: take {} out if it is the vendor's: its options collide with ours",
            plugin.place, plugin.path
        )
    }));
    let old = text(&found.plugstack_path)?;
    let mut edits = Edits::of_plugstack(old.as_deref().unwrap_or_default());
    let ours = format!("required {SPANK} ipuof_dir={}", ipuof_dir(found));
    let places = stack.plugins.iter().map(|plugin| &plugin.place).chain(&stack.includes);
    match places.filter(|place| *place.file == *found.plugstack_path).map(|place| place.line).min() {
        Some(first) => edits.add_above(first, &ours),
        None => edits.add(&ours),
    }
    let new = edits.apply();
    plan.changes.push(Change { path: found.plugstack_path.clone(), old, new });
    Ok(())
}

/// Slurm takes the CR at the end of a line of plugstack.conf for a part of its last word.
fn without_cr(place: &Place, plan: &mut Plan) -> Result<(), Failure> {
    let old = text(&place.file)?.unwrap_or_default();
    let mut edits = Edits::of_plugstack(&old);
    if let Some(line) = old.split('\n').nth(place.line - 1).and_then(|line| line.strip_suffix('\r')) {
        edits.remove(place, 1);
        edits.add_above(place.line, line);
    }
    let new = edits.apply();
    plan.changes.push(Change { path: place.file.to_path_buf(), old: Some(old), new });
    Ok(())
}

fn vipu_conf(found: &Found, plan: &mut Plan) -> Result<(), Failure> {
    let old = text(&found.vipu_conf)?;
    let before = old.as_deref().unwrap_or_default();
    let listed = vipu_conf::listed(before);
    let has = |key: &str| listed.iter().any(|entry| entry.key.name == key && entry.line.is_some());
    let mut edits = Edits::new(before);
    if !found.has_own_files {
        model_keys(found, &has, &mut edits, plan);
    }
    if found.selector.is_linear && !has("Layer") {
        edits.add("Layer=linear");
    }
    let new = edits.apply();
    // Keys of the vendor's plugin that ours does not know, for example.
    let errors = Settings::parse(&new, Path::new("vipu.conf")).err().filter(|_| !found.has_own_files);
    plan.notes.extend(errors.map(|why| format!("vipu.conf needs more: {}", why.one_line())));
    plan.changes.push(Change { path: found.vipu_conf.clone(), old, new });
    Ok(())
}

/// The keys of the models whose file is vipu.conf.
fn model_keys(found: &Found, has: &dyn Fn(&str) -> bool, edits: &mut Edits<'_>, plan: &mut Plan) {
    let settings = &found.settings;
    if !has("ApiHost") {
        let (host, note) = match &settings.host {
            Some((host, place)) => (host.as_str(), format!("the controller's address is from {place}")),
            None => (CONTROLLER, "no file names the controller: write its name for ApiHost".to_owned()),
        };
        plan.notes.push(note);
        edits.add(&format!("ApiHost={host}"));
        let port = settings.port.as_deref().filter(|port| *port != "8090" && !has("ApiPort"));
        port.into_iter().for_each(|port| edits.add(&format!("ApiPort={port}")));
    }
    if !has("IpuofDir") {
        edits.add(&format!("IpuofDir={}", ipuof_dir(found)));
    }
    match (&found.partitions, &settings.shared_in) {
        _ if has("Mode") => {}
        (Some(partitions), _) if found.keeps_sizes => {
            let pool = partitions.pool.iter().map(|(size, count)| format!("{size}x{count}"));
            let pool = pool.collect::<Vec<_>>().join(",");
            edits.add("Mode=pool");
            edits.add(&format!("Pool={pool}"));
            plan.notes.push(format!(
                "Pool={pool}: slurm-vipu makes these partitions; to use those that exist, write their names instead, as in Pool=p16_*"
            ));
        }
        (None, Some(place)) if !has("UseReconfigPartition") => {
            edits.add("UseReconfigPartition=1");
            plan.notes.push(format!(
                "{place} gives all jobs one partition, and now each gets one of its own; to keep the one, write Mode=shared, \
                 SharedPartition=<its name> and Delivery=api into vipu.conf instead of UseReconfigPartition=1"
            ));
            plan.notes.push(
                "UseReconfigPartition=1 makes reconfigurable partitions, so that several processes of a job can share one as before: \
                 leave it out if none do"
                    .into(),
            );
        }
        _ => {}
    }
    if let Some(file) = settings.key_in.as_ref().filter(|_| !has("ApiAccessFile")) {
        plan.notes.push(format!("{file} has an access key: copy it into a file for ApiAccessFile"));
    }
}
