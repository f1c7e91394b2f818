//! The variables that slurmctld has for a job. Slurm hands those of `env_sup` to the batch script, to salloc
//! and to srun. It hands those of `spank_job_env` to Prolog and Epilog, on nodes and in slurmctld.

use std::ffi::{CStr, c_char, c_void};

use super::{JobMut, JobRef, script_variables};
use crate::slurmctld::Host;

/// One of a job's two lists of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    EnvSup,
    SpankJobEnv,
}

impl List {
    /// What Slurm needs before the name of a variable.
    fn prefix(self) -> &'static str {
        match self {
            Self::EnvSup => "",
            Self::SpankJobEnv => script_variables::PREFIX,
        }
    }

    /// Returns the value of an entry `name=value`, if it is the entry of this variable.
    fn value_in<'entry>(self, entry: &'entry [u8], name: &str) -> Option<&'entry [u8]> {
        let entry = match self {
            Self::EnvSup => entry,
            Self::SpankJobEnv => script_variables::bare(entry),
        };
        entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
    }
}

impl JobRef<'_> {
    /// Returns the value of a variable of the job's own (`env_sup`), if it is set.
    pub fn environment(self, name: &str) -> Option<String> {
        self.value(List::EnvSup, name)
    }

    /// Returns the value of a variable for Prolog and Epilog, if it is set. `name` is without the `SPANK_`
    /// that they see before it.
    pub fn script_environment(self, name: &str) -> Option<String> {
        self.value(List::SpankJobEnv, name)
    }

    fn value(self, list: List, name: &str) -> Option<String> {
        // SAFETY: the slots of a job's list, under the job lock.
        let value = self.slots(list).find_map(|slot| list.value_in(unsafe { entry(slot) }?, name))?;
        Some(String::from_utf8_lossy(value).into_owned())
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
        self.set(List::SpankJobEnv, name, value);
    }

    /// Removes a variable of the job's own, if it is set.
    pub fn remove_environment(&mut self, name: &str) {
        self.remove(List::EnvSup, name);
    }

    /// Removes all variables for Prolog and Epilog whose names begin with `forged`, and entries of which Slurm
    /// makes none.
    pub fn clean_script_environment(&mut self, forged: &str) {
        self.remove_all(List::SpankJobEnv, |entries| script_variables::unwanted(entries, forged));
    }

    /// Sets a variable, and leaves one entry for its name. A client of a user's own can have sent one name
    /// several times.
    fn set(&mut self, list: List, name: &str, value: &str) {
        self.remove(list, name);
        let Some(slot) = self.grow(list) else { return };
        // SAFETY: job write lock; the slot holds NULL.
        unsafe { self.host.replace_text(slot, &format!("{}{name}={value}", list.prefix())) };
    }

    fn remove(&mut self, list: List, name: &str) {
        let is_of_name =
            |entry: &Option<&[u8]>| entry.is_some_and(|entry| list.value_in(entry, name).is_some());
        self.remove_all(list, |entries| entries.iter().map(is_of_name).collect());
    }

    /// Removes the entries that are `unwanted`: an element for each.
    fn remove_all(&mut self, list: List, unwanted: impl FnOnce(&[Option<&[u8]>]) -> Vec<bool>) {
        let slots: Vec<_> = self.slots(list).collect();
        // SAFETY: job write lock; the slots of one of the job's arrays, whose strings are of Slurm's
        // allocator.
        let kept = unsafe { remove_entries(self.host, &slots, unwanted) };
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

/// Frees the strings of an array that are `unwanted`: an element for each. The others move together, and leave
/// NULL behind them. The array keeps its memory. Returns the number of strings left.
///
/// # Safety
/// The slots are neighbours that no other thread reads meanwhile, and hold NULL or strings of Slurm's
/// allocator.
pub(crate) unsafe fn remove_entries(
    host: &Host,
    slots: &[*mut *mut c_void],
    unwanted: impl FnOnce(&[Option<&[u8]>]) -> Vec<bool>,
) -> usize {
    // SAFETY: NULL or a C string (caller), which is freed below only.
    let entries: Vec<_> = slots.iter().map(|slot| unsafe { entry(*slot) }).collect();
    let mut kept = 0;
    for (slot, goes) in slots.iter().zip(unwanted(&entries)) {
        if goes {
            // SAFETY: NULL or a string of Slurm's allocator (caller), which xfree takes back, leaving NULL.
            unsafe { (host.slurmctld.call.xfree)(*slot) };
        } else {
            // SAFETY: two slots of the array, or the same slot twice.
            unsafe { slots[kept].swap(*slot) };
            kept += 1;
        }
    }
    kept
}

/// Returns the entry in a slot; `None` for NULL.
///
/// # Safety
/// The slot holds NULL or a C string, which does not change for as long as the result is used.
unsafe fn entry<'lock>(slot: *mut *mut c_void) -> Option<&'lock [u8]> {
    // SAFETY: a slot of an array (caller).
    let text = unsafe { slot.read() }.cast::<c_char>();
    // SAFETY: not NULL, and a C string (caller).
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
}
