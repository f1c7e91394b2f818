//! Checks that the release's table is true of this slurmctld, before the plugins use any record.
//!
//! A failed check turns the plugins into a pure pass-through for the rest of the process. Reads at wrong
//! offsets could do anything; without reads, only IPU jobs do not start. All memory that is checked here for
//! the first time is read through a `Probe`, which survives wrong addresses.

mod conf;
mod job;
mod node;

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering};

use slurm_release as facts;
use slurm_release::{Field, Layout, Text, Texts};

use crate::job::JobRef;
use crate::log;
use crate::probe::Probe;
use crate::record::Record;
use crate::running_release::loaded;

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
    if let Some(verdict) = VERDICT.get() {
        return *verdict;
    }
    // A call without a probe has checked nothing, so the next call tries again.
    let Some(probe) = Probe::new() else { return false };
    *VERDICT.get_or_init(|| conf::look(&probe).inspect_err(|finding| mistrust(finding)).is_ok())
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
        let Some(probe) = Probe::new() else { return false };
        if let Err(finding) = job::look(&probe, job) {
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

/// Checks node records.
pub(crate) fn nodes_are_as_expected(nodes: &[Record<'_>], layout: &Layout) -> bool {
    let Some(probe) = Probe::new() else { return false };
    let looked = nodes.iter().try_for_each(|node| node::look(&probe, *node, layout));
    looked.inspect_err(|finding| mistrust(finding)).is_ok()
}

/// Checks the first QOS record that a job leads to.
pub(crate) fn qos_is_as_expected(qos: Record<'_>, layout: &Layout) -> bool {
    static VERDICT: OnceLock<bool> = OnceLock::new();
    once(&VERDICT, "the QOS of a job", |probe| job::is_qos(probe, qos, layout))
}

/// Checks the first default partition, by its magic and its name.
pub(crate) fn default_partition_is_as_expected(part: Record<'_>, layout: &Layout) -> bool {
    static VERDICT: OnceLock<bool> = OnceLock::new();
    let fields = &layout.part_record;
    once(&VERDICT, "the default partition", |probe| {
        probe.can_read(part.address(), fields.size.into())
            && part.read(fields.magic) == facts::PART_MAGIC
            && probe.is_text(part.text_pointer(fields.name))
    })
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
    let Some(probe) = Probe::new() else { return false };
    let is_one = probe.can_read(part.address(), fields.size.into())
        && part.read(fields.magic) == facts::PART_MAGIC
        && probe.is_text(part.text_pointer(fields.name));
    let nodes = if is_one { part.pointer(fields.node_bitmap) } else { std::ptr::null_mut() };
    let is_right = is_one && nodes.is_null() || probe.is_bitmap(nodes);
    if !is_right {
        mistrust("a partition record reads wrong");
    }
    SEEN.store(is_right && !nodes.is_null(), Ordering::Relaxed);
    is_right
}

/// Whether a node record has its magic. [`nodes_are_as_expected`] has checked the other members.
pub(crate) fn node_has_mark(node: Record<'_>, layout: &Layout) -> bool {
    node.read(layout.node_record.magic) == facts::NODE_MAGIC
}

/// Runs a check that is enough once, and keeps its verdict. A call without a probe checks nothing, and the
/// next call tries again.
fn once(verdict: &OnceLock<bool>, what: &str, look: impl Fn(&Probe) -> bool) -> bool {
    if let Some(verdict) = verdict.get() {
        return *verdict;
    }
    let Some(probe) = Probe::new() else { return false };
    *verdict.get_or_init(|| {
        let right = look(&probe);
        if !right {
            mistrust(&format!("{what} reads wrong"));
        }
        right
    })
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
    let Some(probe) = Probe::new() else { return false };
    let readable = |text: *const c_void| text.is_null() || probe.can_read(text, 1);
    let texts = texts.iter().all(|field| readable(message.text_pointer(*field)));
    let all = texts && probe.is_list(first, count);
    if all {
        SEEN.fetch_or(there, Ordering::Relaxed);
    } else {
        mistrust("a request in a job_desc_msg_t is no text");
    }
    all
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
