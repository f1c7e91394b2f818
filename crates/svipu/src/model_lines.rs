//! The lines of `svipu status` about one model.

use std::collections::BTreeMap;

use vipu_status::{Contact, Drain, Limits, Model, Partition, Pod, PoolBlock, PoolState, State, WaitingJob};
use vipu_types::IpuCount;

use crate::ipu_use::Use;
use crate::page::{COLUMNS, Page, Tone};
use crate::safe::cut;
use crate::view::View;
use crate::{drains, license_reservations, partition, times};

/// The drains of a Pod that are shown.
const MOST_DRAINS: usize = 4;

/// The reasons that are shown, the most frequent ones.
const MOST_REASONS: usize = 8;

/// The limits by name that are shown.
const MOST_LIMITS: usize = 12;

/// Adds the lines of a model.
pub(crate) fn add(page: &mut Page, view: &View<'_>, model: &Model) {
    page.line("");
    let total: u64 = model.pods.iter().map(|pod| u64::from(pod.ipus.total)).sum();
    let mode = match &*model.mode {
        "" | "partition" => String::new(),
        mode => format!(", Mode={}", crate::safe::cut(mode, 20)),
    };
    page.toned(&[
        (Tone::Bold, &crate::safe::cut(&model.name, 40)),
        (Tone::Plain, &format!(": {total} IPUs{mode}")),
    ]);
    capacity(page, view, model);
    whole_times(page, view, model);
    model.pods.iter().for_each(|pod| controller(page, view, model, pod));
    if let Some(trouble) = &model.trouble {
        page.indented(Tone::Red, &format!("  trouble: {trouble}"));
    }
    conf_file(page, view, model);
    limits(page, &model.limits);
    for sentence in license_reservations::sentences(view, model, i64::MAX) {
        page.indented(Tone::Plain, &format!("  {sentence}"));
    }
    jobs(page, view, model);
}

fn capacity(page: &mut Page, view: &View<'_>, model: &Model) {
    let count = |kind: Use| model.pods.iter().map(|pod| u64::from(kind.count(&pod.ipus))).sum();
    let counts = Use::ALL.map(|kind| (kind, count(kind)));
    bar(page, &counts);
    let blocks = page.has_blocks();
    let number = |(kind, count): &(Use, u64)| {
        let (name, mark) = kind.name();
        let mark = if blocks { kind.block() } else { mark };
        vec![(kind.tone(), mark.to_string()), (Tone::Plain, format!(" {name} {count}"))]
    };
    let shown = counts.iter().filter(|(kind, count)| *count > 0 || [Use::Used, Use::Free].contains(kind));
    page.packed(shown.map(number), "  ", COLUMNS);
    page.line(&fitting(view, model));
}

/// The sizes that fit now. A partition has a power of two of IPUs. A pool has some sizes only.
fn fitting(view: &View<'_>, model: &Model) -> String {
    let sizes = (0..u32::BITS).map(|power| 1_u32 << power).take_while(|size| *size <= model.largest_now);
    let has_pool = model.pods.iter().any(|pod| !pod.pool.is_empty());
    let fits = |size: &IpuCount| !has_pool || vipu_forecast::room_for(view.all, model, *size) > 0;
    let sizes = sizes.filter_map(|size| IpuCount::new(size.into()).ok()).filter(fits);
    let sizes: Vec<_> = sizes.map(|size| size.to_string()).collect();
    match sizes.is_empty() {
        true => "  fits now: no partition".to_owned(),
        false => format!(
            "  fits now: partitions of {} IPU{}",
            sizes.join(", "),
            if sizes == ["1"] { "" } else { "s" }
        ),
    }
}

/// Adds the next time in which only the largest jobs run.
fn whole_times(page: &mut Page, view: &View<'_>, model: &Model) {
    let Some(whole) = &model.whole_times else { return };
    let Some(next) = whole.times.iter().find(|time| time.until > view.surroundings.now) else { return };
    let (from, until) = (view.time(next.from), view.time(next.until));
    page.line(&format!("  only jobs of {} IPUs from {from} to {until} (WholeTimes)", whole.ipus));
}

fn controller(page: &mut Page, view: &View<'_>, model: &Model, pod: &Pod) {
    let since = |since: &i64| {
        let ago = view.surroundings.now.saturating_sub(*since);
        format!("since {} ({})", view.time(*since), times::span(ago))
    };
    let (tone, contact) = match &pod.contact {
        Contact::NotYet => (Tone::Yellow, "has not answered yet".to_owned()),
        Contact::Reached { since: first } => (Tone::Plain, format!("answers {}", since(first))),
        Contact::Lost { since: first, reason } => (Tone::Red, format!("lost {}: {reason}", since(first))),
    };
    let controller = crate::safe::cut(&pod.controller, 60);
    let idle = if pod.ipus.idle > 0 { format!(" ({} idle)", pod.ipus.idle) } else { String::new() };
    let (free, total) = (pod.ipus.free, pod.ipus.total);
    let ipus = format!("{free} of {total} IPUs free{idle}, largest partition {}", pod.largest_free);
    let version = pod.version.as_ref();
    let version =
        version.map(|version| format!(" (V-IPU {})", crate::safe::cut(version, 20))).unwrap_or_default();
    page.indented(Tone::Plain, &format!("  controller {controller}{version}: {ipus}"));
    page.indented(tone, &format!("    {contact}"));
    if let (Contact::Reached { .. }, Some(trouble)) = (&pod.contact, &pod.trouble) {
        page.indented(Tone::Red, &format!("    trouble: {trouble}"));
    }
    if !pod.nodes.is_empty() {
        page.indented(Tone::Plain, &format!("    nodes: {}", crate::safe::cut(&pod.nodes, 100)));
    }
    pool(page, view, model, pod);
    let drains = drains::words(view, model, pod);
    drains.iter().take(MOST_DRAINS).for_each(|drain| page.indented(Tone::Yellow, &format!("    {drain}")));
    if drains.len() > MOST_DRAINS {
        page.line(&format!("    and {} more drains: svipu map --all", drains.len() - MOST_DRAINS));
    }
}

fn conf_file(page: &mut Page, view: &View<'_>, model: &Model) {
    let conf = &model.conf;
    if let Some(error) = &conf.error {
        let force =
            if conf.in_force { "the last good settings are in force" } else { "no settings are in force" };
        let line = format!("  configuration file, read {}: {force}; error: {error}", view.time(conf.read));
        page.indented(Tone::Red, &line);
    } else if !conf.in_force {
        page.toned(&[(Tone::Red, "  configuration file: no settings are in force")]);
    }
}

fn limits(page: &mut Page, limits: &Limits) {
    let mut words = vec![format!("{} IPUs for a job", limits.job)];
    let by_name =
        |kind: &'static str| move |(name, ipus): (&String, &u32)| format!("{ipus} {kind} {}", short(name));
    words.extend(limits.job_in_slurm_partition.iter().map(by_name("for a job in Slurm partition")));
    words.extend(limits.job_in_qos.iter().map(by_name("for a job of QOS")));
    let shares = limits.slurm_partition.iter();
    words.extend(shares.map(|(name, share)| {
        format!("{} for all jobs in Slurm partition {} ({} used)", share.limit, short(name), share.used)
    }));
    let more = words.len().saturating_sub(MOST_LIMITS);
    words.truncate(MOST_LIMITS);
    words.push(match limits.keep {
        0 => "no --ipu-keep".to_owned(),
        keep => format!("--ipu-keep up to {}", times::limit(keep)),
    });
    if more > 0 {
        words.push(format!("{more} more: svipu --json"));
    }
    page.indented(Tone::Plain, &format!("  limits: {}", words.join(", ")));
}

/// Adds the jobs by state, and the waiting jobs by reason.
fn jobs(page: &mut Page, view: &View<'_>, model: &Model) {
    let mut states: BTreeMap<State, usize> = BTreeMap::new();
    let is_of_job = |it: &&Partition| it.model == model.name && it.state != State::Idle;
    for partition in view.chosen.partitions.iter().filter(is_of_job) {
        *states.entry(partition.state).or_default() += 1;
    }
    let words: Vec<_> = states.iter().map(|(state, count)| format!("{count} {}", state.name())).collect();
    let words = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    page.indented(Tone::Plain, &format!("  jobs: {words}"));
    not_made(page, view, model);
    waiting(page, "jobs in line", "queue", model, &view.chosen.line);
    if view.chosen.not_in_line.iter().any(|job| *job.model == *model.name) {
        let heading = "jobs that are not in line, as they wait for something else";
        waiting(page, heading, "--json", model, &view.chosen.not_in_line);
    }
}

/// The partitions whose making goes wrong that are shown.
const MOST_NOT_MADE: usize = 4;

/// Adds the partitions whose making takes long or fails, with tries and errors.
fn not_made(page: &mut Page, view: &View<'_>, model: &Model) {
    let is_made = |it: &&Partition| {
        matches!(it.state, State::Preparing | State::Creating | State::Failed) && it.model == model.name
    };
    let told = view.chosen.partitions.iter().filter(is_made);
    let told: Vec<_> = told.filter_map(|it| Some((it, partition::news(it)?))).collect();
    for (it, news) in told.iter().take(MOST_NOT_MADE) {
        let (state, owner) = (it.state.name(), view.owner(it.job.as_deref()));
        page.indented(Tone::Yellow, &format!("    {state} for {owner}: {}", cut(news, 200)));
    }
    if told.len() > MOST_NOT_MADE {
        page.line(&format!("    and {} more: svipu partitions", told.len() - MOST_NOT_MADE));
    }
}

/// Adds the number of waiting jobs, and the number by reason. `all` is the command that shows all of them.
fn waiting(page: &mut Page, heading: &str, all: &str, model: &Model, jobs: &[WaitingJob]) {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for job in jobs.iter().filter(|job| *job.model == *model.name) {
        *reasons.entry(job.reason.as_deref().unwrap_or("-")).or_default() += u64::from(job.tasks);
    }
    page.line(&format!("  {heading}: {}", reasons.values().sum::<u64>()));
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (reason, count) in reasons.iter().take(MOST_REASONS) {
        page.indented(Tone::Plain, &format!("    {count} {}", crate::safe::cut(reason, 120)));
    }
    if reasons.len() > MOST_REASONS {
        page.line(&format!("    and {} more reasons: svipu {all}", reasons.len() - MOST_REASONS));
    }
}

fn short(name: &str) -> String {
    crate::safe::cut(name, 30)
}

/// The partitions out of use that are shown.
const MOST_OUT_OF_USE: usize = 8;

/// Adds the number of partitions by size and state, and those that no job gets, with the reasons.
fn pool(page: &mut Page, view: &View<'_>, model: &Model, pod: &Pod) {
    if pod.pool.is_empty() && pod.missing.is_empty() {
        return;
    }
    let mut sizes: BTreeMap<u32, Vec<&PoolBlock>> = BTreeMap::new();
    for block in &pod.pool {
        sizes.entry(block.size).or_default().push(block);
    }
    let drains: Vec<_> = drains::of_pod(view, model, pod).collect();
    let words: Vec<_> = sizes.iter().rev().map(|(size, blocks)| of_size(*size, blocks, &drains)).collect();
    let words = if words.is_empty() { "no partition".into() } else { words.join("; ") };
    page.indented(Tone::Plain, &format!("    pool: {words}"));
    let out_of_use = pod.pool.iter().filter(|block| block.state == PoolState::OutOfUse);
    let why = |block: &PoolBlock| block.reason.clone().unwrap_or_default();
    let out_of_use = out_of_use.map(|block| (block.partition.clone(), "out of use", why(block)));
    let missing = pod.missing.iter().map(|(id, why)| (id.clone(), "missing", why.clone()));
    let all: Vec<_> = out_of_use.chain(missing).collect();
    for (id, state, why) in all.iter().take(MOST_OUT_OF_USE) {
        let line = format!("      {} is {state}: {}", cut(id, 36), cut(why, 120));
        page.indented(Tone::Red, &line);
    }
    if all.len() > MOST_OUT_OF_USE {
        page.line(&format!("      and {} more: svipu --json", all.len() - MOST_OUT_OF_USE));
    }
}

/// As `3 of 16 IPUs (1 used, 1 free, 1 drained)`. Those that a job has are not drained yet.
fn of_size(size: u32, blocks: &[&PoolBlock], drains: &[&Drain]) -> String {
    let is_drained = |block: &PoolBlock| {
        let covers = |drain: &&Drain| drain.is_whole() || drain.partition.as_ref() == Some(&block.partition);
        block.state == PoolState::Free && drains.iter().any(covers)
    };
    let (drained, others): (Vec<&PoolBlock>, Vec<_>) = blocks.iter().partition(|block| is_drained(block));
    let with = |state| others.iter().filter(|block| block.state == state).count();
    let counts = PoolState::ALL.map(|state| (with(state), state.name().replace('_', " ")));
    let counts = counts.into_iter().chain([(drained.len(), Use::Drained.name().0.to_owned())]);
    let states = counts.filter(|(count, _)| *count > 0).map(|(count, state)| format!("{count} {state}"));
    let ipus = if size == 1 { "IPU" } else { "IPUs" };
    format!("{} of {size} {ipus} ({})", blocks.len(), states.collect::<Vec<_>>().join(", "))
}

/// The greatest number of cells. A smaller model has a cell for each IPU.
const CELLS: u64 = 64;

/// Adds the bar of these counts.
fn bar(page: &mut Page, counts: &[(Use, u64)]) {
    let blocks = page.has_blocks();
    let part = |(kind, cells): (Use, u64)| {
        let mark = if blocks { kind.block() } else { kind.name().1 };
        (kind.tone(), mark.to_string().repeat(usize::try_from(cells).unwrap_or(0)))
    };
    let parts: Vec<_> = cells(counts).into_iter().map(part).collect();
    let mut pieces = vec![(Tone::Plain, "  [")];
    pieces.extend(parts.iter().map(|(tone, text)| (*tone, text.as_str())));
    pieces.push((Tone::Plain, "]"));
    page.toned(&pieces);
}

/// The cells of each use. Each use that has IPUs gets a cell.
fn cells(counts: &[(Use, u64)]) -> Vec<(Use, u64)> {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let all = total.min(CELLS);
    let share = |count: u64| match count {
        0 => 0,
        _ => (count * all / total).max(1),
    };
    let mut cells: Vec<_> = counts.iter().map(|(kind, count)| (*kind, share(*count))).collect();
    // Rounding leaves a few cells over or too few: the largest use takes the difference.
    let sum: u64 = cells.iter().map(|(_, cells)| cells).sum();
    if let Some((_, largest)) = cells.iter_mut().max_by_key(|(_, cells)| *cells) {
        *largest = (*largest + all).saturating_sub(sum);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_svipu_bar_has_a_cell_for_each_use() {
        let shares = |used, faulty, free| {
            let counts = [(Use::Used, used), (Use::Faulty, faulty), (Use::Free, free)];
            cells(&counts).iter().map(|(_, cells)| *cells).collect::<Vec<_>>()
        };
        assert_eq!(shares(0, 0, 0), [0, 0, 0]);
        assert_eq!(shares(4, 0, 12), [4, 0, 12]);
        assert_eq!(shares(1000, 1, 23), [62, 1, 1]);
    }
}
