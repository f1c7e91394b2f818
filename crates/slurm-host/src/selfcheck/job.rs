//! A job record and what it points to, early members and late ones: those move most often.
//!
//! Nothing that a user may write freely, such as the job's name, is judged: it must not switch the plugin off.

use std::ffi::c_void;

use slurm_release as facts;
use slurm_release::Layout;

use crate::job::JobRef;
use crate::probe::Probe;
use crate::record::Record;

/// The first word of a `bitstr_t`, the same in every release.
const BITMAP_MAGIC: u32 = 0x4243_4445;

/// No time in seconds lies beyond this.
const LATEST: i64 = 1 << 40;

/// More than there are base states.
const STATES: u32 = 32;

/// More than any count or enumeration that is looked at holds.
const MANY: u32 = 1000;

/// # Errors
/// What reads wrong.
pub(super) fn look(probe: &Probe, job: JobRef<'_>) -> Result<(), String> {
    let (at, size) = (job.record().address(), job.host().layout.job_record.size);
    if !probe.can_read(at, size.into()) {
        return Err(format!("a job record has less than {size} bytes"));
    }
    // SAFETY: a JobRef stands for at least the job read lock, which find_job_record needs.
    if unsafe { (job.host().slurmctld.call.find_job_record)(job.id()) } != at {
        return Err(format!("no job is found under the id {} that its record has", job.id()));
    }
    let look = || {
        texts(probe, job)?;
        numbers(job)?;
        details(probe, job)?;
        resources(probe, job)?;
        partition(probe, job)?;
        qos(probe, job)
    };
    look().map_err(|member| format!("{member} of job {} reads wrong", job.id()))
}

type Looked = Result<(), &'static str>;

fn wanted(right: bool, member: &'static str) -> Looked {
    if right { Ok(()) } else { Err(member) }
}

fn texts(probe: &Probe, job: JobRef<'_>) -> Looked {
    let (record, fields) = (job.record(), &job.host().layout.job_record);
    for (member, field) in [
        ("partition", fields.partition),
        ("state_desc", fields.state_desc),
        ("system_comment", fields.system_comment),
        ("user_name", fields.user_name),
        ("resv_name", fields.resv_name),
    ] {
        let text = record.text_pointer(field);
        wanted(is_null_or(text, |text| probe.is_text(text)), member)?;
    }
    for (member, field) in [
        ("tres_per_node", fields.tres_per_node),
        ("tres_per_job", fields.tres_per_job),
        ("tres_per_task", fields.tres_per_task),
    ] {
        // What Slurm accepts there begins with a letter, or nearly; a record begins with its mark, which no text does.
        let begins_as_text =
            |text| probe.can_read(text, 1) && probe.beginning(text).first().is_none_or(u8::is_ascii);
        wanted(is_null_or(record.text_pointer(field), begins_as_text), member)?;
    }
    for (member, field) in [("node_bitmap", fields.node_bitmap), ("node_bitmap_cg", fields.node_bitmap_cg)] {
        wanted(is_null_or(record.pointer(field), |bitmap| is_bitmap(probe, bitmap)), member)?;
    }
    let options = record.texts_pointer(fields.spank_job_env);
    wanted(super::is_list(probe, options, record.read(fields.spank_job_env_size)), "spank_job_env")
}

fn is_bitmap(probe: &Probe, at: *const c_void) -> bool {
    probe.number(at) == Some(BITMAP_MAGIC)
}

pub(super) fn is_null_or(pointer: *const c_void, is_right: impl Fn(*const c_void) -> bool) -> bool {
    pointer.is_null() || is_right(pointer)
}

fn numbers(job: JobRef<'_>) -> Looked {
    let (record, fields) = (job.record(), &job.host().layout.job_record);
    let state = record.read(fields.job_state) & facts::JOB_STATE_BASE;
    wanted(state < STATES && record.read(fields.state_reason) < MANY, "job_state or state_reason")?;
    let times = [record.read(fields.start_time), record.read(fields.end_time)];
    wanted(times.iter().all(|time| (0..LATEST).contains(time)), "start_time or end_time")?;
    let wait = record.read(fields.wait_all_nodes);
    wanted(wait <= 1 || wait == 0xfffe, "wait_all_nodes")?;
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
    wanted((0..LATEST).contains(&details.read(fields.begin_time)), "begin_time")?;
    let env_sup = details.texts_pointer(fields.env_sup);
    wanted(super::is_list(probe, env_sup, details.read(fields.env_cnt).into()), "env_sup")
}

/// What is freed when a start is refused late: of a job that has none, nothing can be told.
fn resources(probe: &Probe, job: JobRef<'_>) -> Looked {
    let (record, layout) = (job.record(), job.host().layout);
    let (field, fields) = (layout.job_record.job_resrcs, &layout.job_resources);
    let readable = |resources| probe.can_read(resources, fields.size.into());
    wanted(is_null_or(record.pointer(field), readable), "job_resrcs")?;
    // SAFETY: under the job lock; NULL, or memory that was just read in its whole size.
    let Some(found) = (unsafe { record.follow(field) }) else { return Ok(()) };
    let nodes = found.pointer(fields.node_bitmap);
    wanted(is_null_or(nodes, |bitmap| is_bitmap(probe, bitmap)), "job_resrcs")
}

fn partition(probe: &Probe, job: JobRef<'_>) -> Looked {
    let (record, layout) = (job.record(), job.host().layout);
    let field = layout.job_record.part_ptr;
    let readable = |part| probe.can_read(part, layout.part_record.size.into());
    wanted(is_null_or(record.pointer(field), readable), "part_ptr")?;
    // SAFETY: NULL, or memory that was just read in its whole size; whoever changes partitions holds the job write
    // lock too, and the locks of `locks` include a partition read lock.
    let Some(found) = (unsafe { record.follow(field) }) else { return Ok(()) };
    wanted(found.read(layout.part_record.magic) == facts::PART_MAGIC, "part_ptr")?;
    let name = probe.beginning(found.text_pointer(layout.part_record.name));
    let all = probe.beginning(record.text_pointer(layout.job_record.partition));
    // A job's list of partitions may be longer than what is looked at.
    let among = all.split(|&byte| byte == b',').any(|one| one == name) || all.len() == Probe::TEXT_BYTES;
    wanted(among, "the name of the partition")
}

fn qos(probe: &Probe, job: JobRef<'_>) -> Looked {
    let layout = job.host().layout;
    // SAFETY: the address is only computed with, until what lies there was looked at.
    let found = unsafe { job.record().follow(layout.job_record.qos_ptr) };
    wanted(found.is_none_or(|qos| is_qos(probe, qos, layout)), "qos_ptr")
}

/// Whether there is a `slurmdb_qos_rec_t`, which has no mark: something as long, with a name.
pub(super) fn is_qos(probe: &Probe, qos: Record<'_>, layout: &Layout) -> bool {
    let fields = &layout.qos_rec;
    probe.can_read(qos.address(), fields.size.into()) && probe.is_text(qos.text_pointer(fields.name))
}
