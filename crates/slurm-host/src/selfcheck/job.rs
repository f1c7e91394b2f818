//! Checks a job record and the records to which it points: early members, and late ones, which move most
//! often.
//!
//! The checks judge only values that slurmctld alone writes: its marks, pointers, counts, states and the
//! times that it sets itself. One record decides, so no check may depend on a value that a user can write,
//! even with a client of the user's own. These values are the words of a text (22.05 takes any
//! `tres_per_node` without "gres:" in it), `begin_time` (`--begin` may be any later second), `wait_all_nodes`
//! and `deadline`. The Slurm partition's name need not be among those asked for (with `--reservation` it may
//! be that of the reservation).

use std::ffi::c_void;

use slurm_release as facts;
use slurm_release::Layout;
use vipu_types::{Words, words};

use crate::job::JobRef;
use crate::probe::Probe;
use crate::record::Record;

/// A bound that no time on a clock of today reaches, and that every address exceeds.
const LATEST: i64 = 1 << 40;

/// A bound above the number of base states.
const STATES: u32 = 32;

/// A bound above every count and enumeration that is checked.
const MANY: u32 = 1000;

pub(super) fn look(probe: &Probe, job: JobRef<'_>) -> Result<(), Words> {
    let (at, size) = (job.record().address(), job.host().layout.job_record.size);
    if !probe.can_read(at, size.into()) {
        return Err(words!("a job record has less than {size} bytes"));
    }
    // SAFETY: a JobRef stands for at least the job read lock, which find_job_record needs.
    if unsafe { (job.host().slurmctld.call.find_job_record)(job.id()) } != at {
        return Err(words!("no job is found under the id {} that its record has", job.id()));
    }
    let look = || {
        texts(probe, job)?;
        numbers(job)?;
        details(probe, job)?;
        resources(probe, job)?;
        partition(probe, job)?;
        qos(probe, job)
    };
    look().map_err(|member| words!("{member} of job {} of user {} reads wrong", job.id(), job.user()))
}

type Looked = Result<(), &'static str>;

fn wanted(right: bool, member: &'static str) -> Looked {
    if right { Ok(()) } else { Err(member) }
}

/// Checks the texts, bitmaps and lists. No other member may point to a text, because Slurm's allocator gives
/// no address out twice.
fn texts(probe: &Probe, job: JobRef<'_>) -> Looked {
    let (record, fields) = (job.record(), &job.host().layout.job_record);
    let texts = [
        ("partition", fields.partition),
        ("state_desc", fields.state_desc),
        ("system_comment", fields.system_comment),
        ("user_name", fields.user_name),
        ("resv_name", fields.resv_name),
        ("name", fields.name),
        ("account", fields.account),
        ("licenses", fields.licenses),
        ("burst_buffer_state", fields.burst_buffer_state),
        ("tres_per_node", fields.tres_per_node),
        ("tres_per_job", fields.tres_per_job),
        ("tres_per_task", fields.tres_per_task),
    ];
    let others = [fields.details, fields.job_resrcs, fields.part_ptr, fields.qos_ptr, fields.array_recs];
    let mut seen: Vec<_> = others.map(|field| record.pointer(field).cast_const()).into();
    for (member, field) in texts {
        let text = record.text_pointer(field);
        wanted(probe.is_null_or_readable(text, 1) && (text.is_null() || !seen.contains(&text)), member)?;
        seen.push(text);
    }
    let name = record.text_pointer(fields.user_name);
    wanted(probe.is_null_or_text(name), "user_name")?;
    for (member, field) in [("node_bitmap", fields.node_bitmap), ("node_bitmap_cg", fields.node_bitmap_cg)] {
        wanted(is_null_or_bitmap(probe, record.pointer(field)), member)?;
    }
    let array = record.pointer(fields.array_recs);
    wanted(probe.is_null_or_readable(array, size_of::<u32>()), "array_recs")?;
    let options = record.texts_pointer(fields.spank_job_env);
    wanted(probe.is_list(options, record.read(fields.spank_job_env_size)), "spank_job_env")
}

fn is_null_or_bitmap(probe: &Probe, at: *const c_void) -> bool {
    at.is_null() || probe.is_bitmap(at)
}

fn numbers(job: JobRef<'_>) -> Looked {
    let (record, fields) = (job.record(), &job.host().layout.job_record);
    let state = record.read(fields.job_state) & facts::JOB_STATE_BASE;
    wanted(state < STATES && record.read(fields.state_reason) < MANY, "job_state or state_reason")?;
    // The start of a waiting job is a forecast. It depends on values that an operator may set for other jobs.
    let started = if job.is_running() { 0..LATEST } else { 0..i64::MAX };
    wanted(started.contains(&record.read(fields.start_time)), "start_time")?;
    wanted(record.read(fields.end_time) >= 0, "end_time")?;
    wanted(record.read(fields.prep_epilog_cnt) < MANY, "prep_epilog_cnt")?;
    wanted(record.byte(fields.epilog_running) <= 1, "epilog_running")
}

fn details(probe: &Probe, job: JobRef<'_>) -> Looked {
    let (record, layout) = (job.record(), job.host().layout);
    let fields = &layout.job_details;
    let readable = probe.can_read(record.pointer(layout.job_record.details), fields.size.into());
    wanted(readable, "details")?;
    // SAFETY: under the job lock; memory that was just read in its whole size.
    let Some(details) = (unsafe { record.follow(layout.job_record.details) }) else { return Err("details") };
    wanted(details.read(fields.magic) == facts::DETAILS_MAGIC, "details")?;
    wanted(u32::from(details.read(fields.prolog_running)) < MANY / 10, "prolog_running")?;
    wanted(details.read(fields.requeue) <= 1, "requeue")?;
    wanted((1..LATEST).contains(&details.read(fields.submit_time)), "submit_time")?;
    let env_sup = details.texts_pointer(fields.env_sup);
    wanted(probe.is_list(env_sup, details.read(fields.env_cnt).into()), "env_sup")
}

/// Checks the resources that are freed when a start is refused late. A job without resources shows nothing.
fn resources(probe: &Probe, job: JobRef<'_>) -> Looked {
    let (record, layout) = (job.record(), job.host().layout);
    let (field, fields) = (layout.job_record.job_resrcs, &layout.job_resources);
    wanted(probe.is_null_or_readable(record.pointer(field), fields.size.into()), "job_resrcs")?;
    // SAFETY: under the job lock; NULL, or memory that was just read in its whole size.
    let Some(found) = (unsafe { record.follow(field) }) else { return Ok(()) };
    wanted(is_null_or_bitmap(probe, found.pointer(fields.node_bitmap)), "job_resrcs")
}

fn partition(probe: &Probe, job: JobRef<'_>) -> Looked {
    let (record, layout) = (job.record(), job.host().layout);
    let field = layout.job_record.part_ptr;
    wanted(probe.is_null_or_readable(record.pointer(field), layout.part_record.size.into()), "part_ptr")?;
    // SAFETY: NULL, or memory that was just read in its whole size; a change of partitions holds the job
    // write lock too, and the locks of `locks` include a partition read lock.
    let Some(found) = (unsafe { record.follow(field) }) else { return Ok(()) };
    wanted(found.read(layout.part_record.magic) == facts::PART_MAGIC, "part_ptr")?;
    wanted(probe.is_text(found.text_pointer(layout.part_record.name)), "the name of the partition")
}

fn qos(probe: &Probe, job: JobRef<'_>) -> Looked {
    let layout = job.host().layout;
    // SAFETY: the address is only computed with until the memory there was checked.
    let found = unsafe { job.record().follow(layout.job_record.qos_ptr) };
    wanted(found.is_none_or(|qos| is_qos(probe, qos, layout)), "qos_ptr")
}

/// Whether there is a `slurmdb_qos_rec_t`. It has no magic, so its whole size must be readable and its name a
/// text.
pub(super) fn is_qos(probe: &Probe, qos: Record<'_>, layout: &Layout) -> bool {
    let fields = &layout.qos_rec;
    probe.can_read(qos.address(), fields.size.into()) && probe.is_text(qos.text_pointer(fields.name))
}
