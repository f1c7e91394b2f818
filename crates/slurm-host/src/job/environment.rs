//! The variables that slurmctld has for a job. Slurm hands those of `env_sup` to the batch script, to salloc
//! and to srun. It hands those of `spank_job_env` to Prolog and Epilog, on nodes and in slurmctld.

use std::ffi::c_void;

use super::{JobMut, JobRef};
use crate::slurmctld::Host;
use crate::text::from_c;

/// The prefix of names in `spank_job_env`. Slurm drops variables without it.
pub(crate) const OF_SCRIPTS: &str = "SPANK_";

/// One of a job's two lists of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    EnvSup,
    SpankJobEnv,
}

impl JobRef<'_> {
    /// Returns the value of a variable of the job's own (`env_sup`), if it is set.
    pub fn environment(self, name: &str) -> Option<String> {
        self.slots(List::EnvSup).find_map(|slot| value_of(slot, name))
    }

    /// Returns the value of a variable for Prolog and Epilog, if it is set. `name` is without the `SPANK_`
    /// that they see before it.
    pub fn script_environment(self, name: &str) -> Option<String> {
        let name = format!("{OF_SCRIPTS}{name}");
        self.slots(List::SpankJobEnv).find_map(|slot| value_of(slot, &name))
    }

    /// Returns the entries of a list. Each is a place that holds a C string.
    fn slots(self, list: List) -> impl Iterator<Item = *mut *mut c_void> {
        let array = self.elements(list);
        // SAFETY: under the job lock; a pointer member of the record or its details.
        let (first, count) =
            array.map_or((std::ptr::null_mut(), 0), |(at, count)| (unsafe { at.read() }, count));
        // SAFETY: the array holds `count` strings (SAFETY.md, "env_sup").
        (0..count).map(move |i| unsafe { first.add(i) })
    }

    /// Returns the member that points to a list, and the number of the list's entries.
    fn elements(self, list: List) -> Option<(*mut *mut *mut c_void, usize)> {
        let (record, layout) = (self.record(), self.host().layout);
        let (job, of_details) = (&layout.job_record, &layout.job_details);
        let (at, count) = match list {
            List::EnvSup => {
                let details = self.details()?;
                (details.member(of_details.env_sup), u32::from(details.read(of_details.env_cnt)))
            }
            List::SpankJobEnv => (record.member(job.spank_job_env), record.read(job.spank_job_env_size)),
        };
        Some((at.cast(), usize::try_from(count).ok()?))
    }
}

impl JobMut<'_> {
    /// Sets a variable of the job's own.
    pub fn set_environment(&mut self, name: &str, value: &str) {
        self.set(List::EnvSup, name, value);
    }

    /// Sets a variable for Prolog and Epilog, which see `SPANK_` before its name.
    pub fn set_script_environment(&mut self, name: &str, value: &str) {
        self.set(List::SpankJobEnv, &format!("{OF_SCRIPTS}{name}"), value);
    }

    /// Removes a variable of the job's own, if it is set.
    pub fn remove_environment(&mut self, name: &str) {
        self.remove(List::EnvSup, name);
    }

    /// Removes a variable for Prolog and Epilog, if it is set.
    pub fn remove_script_environment(&mut self, name: &str) {
        self.remove(List::SpankJobEnv, &format!("{OF_SCRIPTS}{name}"));
    }

    /// Removes all variables for Prolog and Epilog whose names begin with `beginning`, however often they are
    /// set.
    pub fn remove_script_environment_of(&mut self, beginning: &str) {
        let beginning = format!("{OF_SCRIPTS}{beginning}");
        self.remove_all(List::SpankJobEnv, |entry| entry.starts_with(&beginning));
    }

    /// Sets a variable, and leaves one entry for its name. A client of a user's own can have sent one name
    /// several times, and Slurm's scripts see the last.
    fn set(&mut self, list: List, name: &str, value: &str) {
        self.keep_first(list, name);
        let known = self.slots(list).find(|slot| value_of(*slot, name).is_some());
        let Some(slot) = known.or_else(|| self.grow(list)) else { return };
        // SAFETY: job write lock; the slot holds NULL or a string of Slurm's allocator.
        unsafe { self.host.replace_text(slot, &format!("{name}={value}")) };
    }

    fn remove(&mut self, list: List, name: &str) {
        self.remove_all(list, |entry| value_in(entry, name).is_some());
    }

    fn keep_first(&mut self, list: List, name: &str) {
        let mut is_first = true;
        self.remove_all(list, |entry| {
            value_in(entry, name).is_some() && !std::mem::replace(&mut is_first, false)
        });
    }

    fn remove_all(&mut self, list: List, is_unwanted: impl FnMut(&str) -> bool) {
        let slots: Vec<_> = self.slots(list).collect();
        // SAFETY: job write lock; the slots of one of the job's arrays, whose strings are of Slurm's
        // allocator.
        let kept = unsafe { remove_entries(self.host, &slots, is_unwanted) };
        if kept < slots.len() {
            self.set_count(list, kept);
        }
    }

    /// Adds one more entry, still NULL, to the end of a list.
    fn grow(&mut self, list: List) -> Option<*mut *mut c_void> {
        let (array, count) = self.elements(list)?;
        // Slurm looks for a NULL behind the last entry of some lists.
        let slots = count.checked_add(2)?;
        let (file, function) = (c"slurm-vipu".as_ptr(), c"grow".as_ptr());
        let bytes = size_of::<*mut c_void>();
        let call = &self.host.slurmctld.call;
        // SAFETY: job write lock; the array is NULL or of Slurm's allocator, and Slurm itself makes it longer
        // like this for burst buffers. No other code uses the memory behind the last entry.
        let new = unsafe {
            (call.xrecalloc)(array.cast(), slots, bytes, true, false, file, 0, function);
            let new = (*array).add(count);
            new.write_bytes(0, slots - count);
            new
        };
        self.set_count(list, count + 1).then_some(new)
    }

    /// Sets the number of a list's entries. Returns false if the member cannot hold the number.
    fn set_count(&mut self, list: List, count: usize) -> bool {
        let (record, layout) = (self.record(), self.host().layout);
        match list {
            List::EnvSup => {
                let (Some(details), Ok(count)) = (self.details(), u16::try_from(count)) else { return false };
                details.write(layout.job_details.env_cnt, count);
            }
            List::SpankJobEnv => {
                let Ok(count) = u32::try_from(count) else { return false };
                record.write(layout.job_record.spank_job_env_size, count);
            }
        }
        true
    }
}

/// Frees the unwanted strings of an array. The others move together, and leave NULL behind them. The array
/// keeps its memory. Returns the number of strings left.
///
/// # Safety
/// The slots are neighbours that no other thread reads meanwhile, and hold NULL or strings of Slurm's
/// allocator.
pub(crate) unsafe fn remove_entries(
    host: &Host,
    slots: &[*mut *mut c_void],
    mut is_unwanted: impl FnMut(&str) -> bool,
) -> usize {
    let mut kept = 0;
    for slot in slots {
        // SAFETY: NULL or a C string (caller).
        let entry = unsafe { from_c(slot.read().cast()) };
        if entry.is_some_and(|entry| is_unwanted(&entry)) {
            // SAFETY: a string of Slurm's allocator (caller), which xfree takes back, leaving NULL.
            unsafe { (host.slurmctld.call.xfree)(*slot) };
        } else {
            // SAFETY: two slots of the array, or the same slot twice.
            unsafe { slots[kept].swap(*slot) };
            kept += 1;
        }
    }
    kept
}

/// Returns the value of the entry in a slot, if the entry has this name.
fn value_of(slot: *mut *mut c_void, name: &str) -> Option<String> {
    // SAFETY: a slot of a job's list under the job lock: NULL or a C string.
    let entry = unsafe { from_c(slot.read().cast()) }?;
    value_in(&entry, name).map(str::to_owned)
}

/// Returns the value of an entry `name=value`, if the entry has this name.
fn value_in<'entry>(entry: &'entry str, name: &str) -> Option<&'entry str> {
    entry.strip_prefix(name)?.strip_prefix('=')
}
