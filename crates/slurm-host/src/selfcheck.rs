//! Checks that the release's table is true of this slurmctld, before the plugins use any record.
//!
//! A failed check turns the plugins into a pure pass-through for the rest of the process. Reads at wrong
//! offsets could do anything; without reads, only IPU jobs do not start. All memory that is checked here for
//! the first time is read through a `Probe`, which survives wrong addresses.

mod job;

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering};

use slurm_release as facts;
use slurm_release::{Field, Layout, Text, Texts};
use vipu_types::{Words, words};

use crate::job::JobRef;
use crate::log;
use crate::probe::{Probe, look};
use crate::record::Record;
use crate::running_release::loaded;
use crate::symbols::{self, RawJob};

static MISTRUSTED: AtomicBool = AtomicBool::new(false);

/// The kinds of jobs that were checked closely, one bit each. A running job has filled members that are still
/// empty in a waiting one.
static SEEN: AtomicU8 = AtomicU8::new(0);

/// Whether a check failed in this process. IPU jobs then do not start.
pub fn is_pass_through() -> bool {
    MISTRUSTED.load(Ordering::Relaxed)
}

/// Checks the configuration structure once: SelectType must read as a selector, the other members as texts.
pub fn conf_is_as_expected() -> bool {
    static VERDICT: OnceLock<bool> = OnceLock::new();
    once(&VERDICT, look_at_conf)
}

/// Checks a job record: its magic each time, and every member that the plugins use for the first job of each
/// kind.
pub(crate) fn job_is_as_expected(job: JobRef<'_>) -> bool {
    if is_pass_through() {
        return false;
    }
    let magic = job.record().read(job.host().layout.job_record.magic);
    if magic != facts::JOB_MAGIC {
        mistrust(&format!("a job record begins with {magic:#x}"));
        return false;
    }
    // Slurm tests a reservation with a record that belongs to no job. The record says nothing about jobs.
    if job.id() == 0 {
        return false;
    }
    let kind = 1 << u8::from(job.is_running()) << (2 * u8::from(job.is_completing()));
    if SEEN.load(Ordering::Relaxed) & kind == 0 {
        let Some(looked) = look(|probe| job::look(probe, job)) else { return false };
        if let Err(finding) = looked {
            mistrust(&finding);
        }
        SEEN.fetch_or(kind, Ordering::Relaxed);
    }
    !is_pass_through()
}

/// Checks a job of slurmctld's list as [`job_is_as_expected`] does. Each job of the list must have an id.
pub(crate) fn listed_job_is_as_expected(job: JobRef<'_>) -> bool {
    let is_expected = job_is_as_expected(job);
    if !is_pass_through() && job.id() == 0 {
        mistrust("a job in slurmctld's list has the id 0");
    }
    is_expected
}

/// Checks node records. None if they cannot be looked at now.
pub(crate) fn nodes_are_as_expected(nodes: &[Record<'_>], layout: &Layout) -> Option<bool> {
    let looked = look(|probe| nodes.iter().try_for_each(|node| look_at_node(probe, *node, layout)))?;
    Some(looked.inspect_err(|finding| mistrust(finding)).is_ok())
}

/// Checks the first QOS record that a job leads to.
pub(crate) fn qos_is_as_expected(qos: Record<'_>, layout: &Layout) -> bool {
    static VERDICT: OnceLock<bool> = OnceLock::new();
    once(&VERDICT, |probe| right(job::is_qos(probe, qos, layout), "the QOS of a job"))
}

/// Checks the first default partition, by its magic and its name.
pub(crate) fn default_partition_is_as_expected(part: Record<'_>, layout: &Layout) -> bool {
    static VERDICT: OnceLock<bool> = OnceLock::new();
    once(&VERDICT, |probe| right(is_partition(probe, part, layout), "the default partition"))
}

/// Whether there is a partition record, with its magic and a name.
fn is_partition(probe: &Probe, part: Record<'_>, layout: &Layout) -> bool {
    let fields = &layout.part_record;
    probe.can_read(part.address(), fields.size.into())
        && part.read(fields.magic) == facts::PART_MAGIC
        && probe.is_text(part.text_pointer(fields.name))
}

/// Checks a partition record: its magic each time, its name and nodes until a record that has nodes was seen.
pub(crate) fn partition_is_as_expected(part: Record<'_>, layout: &Layout) -> bool {
    static SEEN: AtomicBool = AtomicBool::new(false);
    let fields = &layout.part_record;
    if is_pass_through() {
        return false;
    }
    if SEEN.load(Ordering::Relaxed) {
        return part.read(fields.magic) == facts::PART_MAGIC;
    }
    let has_nodes = |probe: &Probe| {
        let nodes = is_partition(probe, part, layout).then(|| part.pointer(fields.node_bitmap))?;
        (nodes.is_null() || probe.is_bitmap(nodes)).then_some(!nodes.is_null())
    };
    let Some(has_nodes) = look(has_nodes) else { return false };
    if has_nodes.is_none() {
        mistrust("a partition record reads wrong");
    }
    SEEN.store(has_nodes == Some(true), Ordering::Relaxed);
    has_nodes.is_some()
}

/// Whether a node record has its magic. [`nodes_are_as_expected`] has checked the other members.
pub(crate) fn node_has_mark(node: Record<'_>, layout: &Layout) -> bool {
    node.read(layout.node_record.magic) == facts::NODE_MAGIC
}

/// Runs a check that is enough once, and keeps its verdict.
fn once(verdict: &OnceLock<bool>, check: impl Fn(&Probe) -> Result<(), Words>) -> bool {
    if let Some(verdict) = verdict.get() {
        return *verdict;
    }
    let Some(looked) = look(check) else { return false };
    *verdict.get_or_init(|| looked.inspect_err(|finding| mistrust(finding)).is_ok())
}

fn right(is_right: bool, what: &str) -> Result<(), Words> {
    if is_right { Ok(()) } else { Err(words!("{what} reads wrong")) }
}

/// Checks that the texts of a message and its list of texts can be read, each the first time that it is not
/// NULL. Most are NULL in most messages. Their words are not checked, because users choose them.
pub(crate) fn texts_are_readable(
    message: Record<'_>,
    texts: &[Field<Text>],
    list: (Field<Texts>, Field<u32>),
) -> bool {
    /// The members that were found good, one bit each.
    static SEEN: AtomicU16 = AtomicU16::new(0);
    let (first, count) = (message.texts_pointer(list.0), message.read(list.1));
    let pointers = texts.iter().map(|field| message.text_pointer(*field)).chain([first]);
    let bits = pointers.enumerate().map(|(place, pointer)| u16::from(!pointer.is_null()) << place);
    let there = bits.fold(0, |all, bit| all | bit);
    let fits = first.is_null() == (count == 0);
    if fits && there & !SEEN.load(Ordering::Relaxed) == 0 {
        return true;
    }
    let all_are = |probe: &Probe| {
        let readable = |text: *const c_void| text.is_null() || probe.can_read(text, 1);
        let texts = texts.iter().all(|field| readable(message.text_pointer(*field)));
        texts && probe.is_list(first, count)
    };
    let Some(all) = look(all_are) else { return false };
    if all {
        SEEN.fetch_or(there, Ordering::Relaxed);
    } else {
        mistrust("a request in a job_desc_msg_t is no text");
    }
    all
}

/// Checks the texts of `slurm_conf`.
fn look_at_conf(probe: &Probe) -> Result<(), Words> {
    let at = symbols::find(c"slurm_conf").ok_or("there is no slurm_conf")?;
    let layout = &loaded()?.release.layout.slurm_conf;
    // slurmstepd gets only SelectType, PluginDir and ClusterName, so the others may be NULL.
    let others = [
        ("the path of slurm.conf", layout.slurm_conf),
        ("PluginDir", layout.plugindir),
        ("StateSaveLocation", layout.state_save_location),
        ("SchedulerParameters", layout.sched_params),
        ("PlugStackConfig", layout.plugstack),
        ("SlurmctldParameters", layout.slurmctld_params),
        ("SlurmctldPidFile", layout.slurmctld_pidfile),
        ("ClusterName", layout.cluster_name),
        ("Licenses", layout.licenses),
    ];
    // One read for all pointers: on 22.05 to 24.11 each squeue makes this check.
    let offsets = others.iter().map(|(_, field)| field.offset()).chain([layout.select_type.offset()]);
    let mut copy = vec![0; offsets.max().unwrap_or_default() + size_of::<usize>()];
    if probe.copy(at.as_ptr(), &mut copy) != copy.len() {
        return Err("slurm_conf cannot be read".into());
    }
    let text = |field: Field<Text>| {
        let mut pointer = [0; size_of::<usize>()];
        pointer.copy_from_slice(&copy[field.offset()..][..size_of::<usize>()]);
        usize::from_ne_bytes(pointer) as *const c_void
    };
    let select_type = probe.beginning(text(layout.select_type)).unwrap_or_default();
    if !select_type.starts_with(b"select/") {
        return Err(words!("SelectType reads as '{}'", String::from_utf8_lossy(&select_type)));
    }
    match others.iter().find(|(_, field)| !probe.is_null_or_text(text(*field))) {
        Some((name, _)) => Err(words!("{name} is no text")),
        None => Ok(()),
    }
}

/// Checks a node record and the record of its line in slurm.conf.
fn look_at_node(probe: &Probe, node: Record<'_>, layout: &Layout) -> Result<(), Words> {
    let (fields, of_config) = (&layout.node_record, &layout.config_record);
    let wrong = |member: &str| Err(words!("{member} of a node record reads wrong"));
    if !probe.can_read(node.address(), fields.size.into()) {
        return Err(words!("a node record has less than {} bytes", fields.size));
    }
    if node.read(fields.magic) != facts::NODE_MAGIC {
        return wrong("magic");
    }
    if !probe.is_text(node.text_pointer(fields.name)) {
        return wrong("name");
    }
    if !probe.is_null_or_text(node.text_pointer(fields.gres)) {
        return wrong("gres");
    }
    if !probe.is_null_or_readable(node.pointer(fields.config_ptr), of_config.size.into()) {
        return wrong("config_ptr");
    }
    // SAFETY: NULL, or memory that was just read in its whole size; node lock, as for the node.
    match unsafe { node.follow(fields.config_ptr) } {
        Some(config) if config.read(of_config.magic) != facts::CONFIG_MAGIC => wrong("config_ptr"),
        Some(config) if !probe.is_null_or_text(config.text_pointer(of_config.gres)) => {
            wrong("config_ptr's gres")
        }
        _ => Ok(()),
    }
}

fn mistrust(finding: &str) {
    if MISTRUSTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let table = loaded().ok().and_then(|loaded| loaded.table.as_ref());
    let (known, remedy) = match table {
        Some(file) => (
            format!("{} says", file.display()),
            "this file is removed, or measured anew from the source of exactly this Slurm,",
        ),
        None => (
            "its release is known to be".to_owned(),
            "a matching slurm-layout.conf (for a patched Slurm) or slurm-vipu is installed",
        ),
    };
    log::error(&format!(
        "select/vipu: this Slurm is not laid out as {known} ({finding}); no IPU job will start until {remedy} and \
         slurmctld restarted; other jobs are not affected"
    ));
}

/// The bytes to read if nothing is known of the release. No known release has a smaller `job_record_t`.
const LEAST_RECORD_BYTES: usize = 1024;

/// Whether the job's record points to a text that asks for a `vipu` GRES. True also if that cannot be found
/// out. For a time when the layout of records cannot be trusted.
///
/// A plugin that has switched itself off must not let an IPU job start without its partition, and cannot read
/// the request at its place. The record still contains a pointer to the request. This function looks through a
/// `Probe` at everything to which the record points. The search takes some hundred system calls for one job,
/// in a state that an administrator is going to end.
///
/// # Safety
/// `job` is the `job_record_t *` of a running select callback.
pub unsafe fn wants_ipus(job: RawJob) -> bool {
    look(|probe| may_want_ipus(probe, job)).unwrap_or(true)
}

fn may_want_ipus(probe: &Probe, job: RawJob) -> bool {
    let known = loaded().map(|loaded| usize::from(loaded.release.layout.job_record.size));
    let mut record = vec![0; known.unwrap_or(LEAST_RECORD_BYTES)];
    if probe.copy(job, &mut record) == 0 {
        return true;
    }
    let words = record.chunks_exact(size_of::<usize>()).filter_map(|word| word.try_into().ok());
    words.map(usize::from_ne_bytes).any(|word| asks_for_vipu(probe, word as *const c_void))
}

fn asks_for_vipu(probe: &Probe, address: *const c_void) -> bool {
    let text = probe.beginning(address);
    text.is_some_and(|text| text.starts_with(b"gres") && text.windows(4).any(|word| word == b"vipu"))
}
