//! The advance reservations that reserve licences.
//!
//! Slurm keeps a reserved licence away from jobs outside the reservation (`job_test_lic_resv`). It counts the
//! licence for a job that starts at `when` if the reservation and the time of the job overlap: `start` is
//! before the end of the job, and `end` is after `when`. It leaves out the reservation that the job uses, and
//! looks at no flag.
//!
//! If a variable or member is not as the release has it, there are no reservations. All else works.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use slurm_release::SlurmctldResv;

use crate::probe::{self, Probe};
use crate::record::{LIST_MAGIC, Record, list_items};
use crate::slurmctld::{Host, Variable};
use crate::{log, selfcheck};

/// `RESV_MAGIC`, the same in every release.
const RESV_MAGIC: u16 = 0x3b82;

/// An older build measured the table file of the site.
const LACKS: &str = "slurm-layout.conf lacks them; make it again with `cargo xtask layout`";

/// A reservation that reserves licences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The licences as in `scontrol show reservation`, for example `vipu:32,matlab:2`.
    pub licenses: String,
    /// The start in Unix time. A floating reservation (`TIME_FLOAT`) has the seconds from now.
    pub start: i64,
    /// The end in Unix time. A repeated reservation may have an end in the past, until Slurm advances it.
    pub end: i64,
}

/// # Safety
/// The caller holds slurmctld's node lock, at least for reading.
pub(crate) unsafe fn of_licenses(host: &'static Host) -> Vec<Reservation> {
    static IS_OFF: AtomicBool = AtomicBool::new(false);
    if IS_OFF.load(Ordering::Relaxed) || selfcheck::is_pass_through() {
        return Vec::new();
    }
    // SAFETY: node lock (caller).
    let found = unsafe { look(host) };
    found.unwrap_or_else(|why| {
        if !IS_OFF.swap(true, Ordering::Relaxed) {
            let advice = match why {
                LACKS => "",
                _ => "; please report this line; a patched Slurm needs a slurm-layout.conf",
            };
            log::error(&format!(
                "select/vipu: cannot read reservations: {why}; plans and forecasts do not know the licences that they reserve, \
                 Slurm heeds them as before{advice}"
            ));
        }
        Vec::new()
    })
}

/// # Safety
/// The caller holds slurmctld's node lock, at least for reading.
unsafe fn look(host: &'static Host) -> Result<Vec<Reservation>, &'static str> {
    /// Whether `resv_list` was found to be a list. Slurm makes one for the life of the process.
    static IS_LIST: AtomicBool = AtomicBool::new(false);
    let fields = host.layout.slurmctld_resv.as_ref();
    let fields = fields.ok_or(LACKS)?;
    let variable = variable().ok_or("this Slurm has no variable resv_list")?;
    // SAFETY: node lock (caller), which guards the variable.
    let at = unsafe { variable.get() };
    if at.is_null() {
        return Ok(Vec::new());
    }
    if !IS_LIST.load(Ordering::Relaxed) {
        let Some(first_word) = probe::look(|probe| probe.number(at)) else { return Ok(Vec::new()) };
        if first_word != Some(LIST_MAGIC) {
            return Err("resv_list is no list");
        }
        IS_LIST.store(true, Ordering::Relaxed);
    }
    // SAFETY: node lock (caller); a list, as its first word told, that changes under the write lock alone.
    let items = unsafe { list_items(host.slurmctld.call.list_for_each, at) }.unwrap_or_default();
    // SAFETY: node lock (caller); an element of the list.
    let read = items.into_iter().filter_map(|item| unsafe { reservation(item, fields) }.transpose());
    read.collect()
}

fn variable() -> Option<&'static Variable<*mut c_void>> {
    static FOUND: OnceLock<Option<Variable<*mut c_void>>> = OnceLock::new();
    // SAFETY: `List resv_list` or `list_t *resv_list` in every release (SAFETY.md, "Reservations").
    FOUND.get_or_init(|| unsafe { Variable::resolve(c"resv_list") }.ok()).as_ref()
}

/// Returns the reservation, if it reserves licences.
///
/// # Safety
/// The caller holds slurmctld's node lock, at least for reading. `item` is an element of `resv_list`.
unsafe fn reservation(
    item: NonNull<c_void>,
    fields: &SlurmctldResv,
) -> Result<Option<Reservation>, &'static str> {
    /// What was found good in a record, one bit each. Most reservations have no licences.
    static SEEN: AtomicU8 = AtomicU8::new(0);
    const RECORD: u8 = 1;
    const LICENSES: u8 = 2;
    const WRONG: &str = "a record reads wrong";
    let is_unseen = |bit| SEEN.load(Ordering::Relaxed) & bit == 0;
    let look = |bit, is_good: &dyn Fn(&Probe) -> bool| {
        let Some(is_good) = probe::look(is_good) else { return Ok(false) };
        if !is_good {
            return Err(WRONG);
        }
        SEEN.fetch_or(bit, Ordering::Relaxed);
        Ok(true)
    };
    // SAFETY: node lock (caller); read only after a record of this size could be read.
    let record = unsafe { Record::new(item) };
    let is_record = |probe: &Probe| probe.can_read(item.as_ptr(), fields.size.into());
    if is_unseen(RECORD) && !look(RECORD, &is_record)? {
        return Ok(None);
    }
    if record.read(fields.magic) != RESV_MAGIC {
        return Err(WRONG);
    }
    let licenses = record.text_pointer(fields.licenses);
    // slurm.conf has the names of the licences.
    let is_text = |probe: &Probe| probe.is_text(licenses);
    if !licenses.is_null() && is_unseen(LICENSES) && !look(LICENSES, &is_text)? {
        return Ok(None);
    }
    let licenses = record.text(fields.licenses).filter(|licenses| !licenses.is_empty());
    // Slurm takes any time from an administrator.
    let (start, end) = (record.read(fields.start_time), record.read(fields.end_time));
    Ok(licenses.map(|licenses| Reservation { licenses, start, end }))
}
