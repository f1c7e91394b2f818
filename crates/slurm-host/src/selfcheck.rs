//! Is the release's table true of this slurmctld? Asked before anything is believed.
//!
//! A wrong answer turns the plugins into a pure pass-through for the rest of the process: reading at wrong
//! offsets could do anything, not reading costs IPU jobs their start. So what is looked at here for the first
//! time is read through a `Probe`, which survives wrong addresses.

mod conf;
mod job;
mod node;

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use slurm_release as facts;
use slurm_release::{Field, Layout, Text, Texts};

use crate::job::JobRef;
use crate::log;
use crate::probe::Probe;
use crate::record::Record;
use crate::running_release::loaded;

static MISTRUSTED: AtomicBool = AtomicBool::new(false);

/// The kinds of jobs that were looked at closely, a bit each: a waiting job has members still empty that a
/// running one has filled.
static SEEN: AtomicU8 = AtomicU8::new(0);

/// Whether a check failed in this process: IPU jobs do not start.
#[must_use]
pub fn is_pass_through() -> bool {
    MISTRUSTED.load(Ordering::Relaxed)
}

/// Checks the configuration structure, once: the texts at their places must be what they are called.
#[must_use]
pub fn conf_is_as_expected() -> bool {
    static VERDICT: OnceLock<bool> = OnceLock::new();
    if let Some(verdict) = VERDICT.get() {
        return *verdict;
    }
    // Who cannot look has found nothing: the next call looks again.
    let Some(probe) = Probe::new() else { return false };
    *VERDICT.get_or_init(|| conf::look(&probe).inspect_err(|finding| mistrust(finding)).is_ok())
}

/// Checks a job record: its mark each time, all that the plugins use for the first job of each kind.
pub(crate) fn job_is_as_expected(job: JobRef<'_>) -> bool {
    if is_pass_through() {
        return false;
    }
    let magic = job.record().read(job.host().layout.job_record.magic);
    if magic != facts::JOB_MAGIC {
        mistrust(&format!("a job record begins with {magic:#x}"));
        return false;
    }
    // Slurm tests a reservation by a record that is no job's: there is nothing in it for us, and nothing to
    // learn from.
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

/// The same for a job of slurmctld's list, each of which has an id.
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

/// Checks the first default partition, by its mark.
pub(crate) fn default_partition_is_as_expected(part: Record<'_>, layout: &Layout) -> bool {
    static VERDICT: OnceLock<bool> = OnceLock::new();
    let fields = &layout.part_record;
    once(&VERDICT, "the default partition", |probe| {
        probe.can_read(part.address(), fields.size.into())
            && part.read(fields.magic) == facts::PART_MAGIC
            && probe.is_text(part.text_pointer(fields.name))
    })
}

/// Checks a partition record: its mark each time, what else is used until one that has nodes was seen.
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

/// Whether a node record has its mark; what else is used, [`nodes_are_as_expected`] looked at.
pub(crate) fn node_has_mark(node: Record<'_>, layout: &Layout) -> bool {
    node.read(layout.node_record.magic) == facts::NODE_MAGIC
}

/// The verdict of a look that is enough once. Who cannot look has found nothing: the next call looks again.
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

/// Checks that the texts of a message can be read, and the list of texts: each the first time that it is not
/// NULL, as most are in most messages. What they say is their user's affair.
pub(crate) fn texts_are_readable(
    message: Record<'_>,
    texts: &[Field<Text>],
    list: (Field<Texts>, Field<u32>),
) -> bool {
    /// What was found good, a bit for each member.
    static SEEN: AtomicU8 = AtomicU8::new(0);
    let (first, count) = (message.texts_pointer(list.0), message.read(list.1));
    let pointers = texts.iter().map(|field| message.text_pointer(*field)).chain([first]);
    let bits = pointers.enumerate().map(|(place, pointer)| u8::from(!pointer.is_null()) << place);
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
