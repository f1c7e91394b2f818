//! A job's supplementary environment (`env_sup`), which Slurm hands to the batch script, to salloc and to srun.

use std::ffi::c_void;

use super::{JobMut, JobRef};
use crate::text::{c_string, from_c};

impl JobRef<'_> {
    /// A variable that is there.
    #[must_use]
    pub fn environment(self, name: &str) -> Option<String> {
        self.env_sup().find_map(|slot| value_of(slot, name))
    }

    /// The entries of `env_sup`, each a place that holds a C string.
    fn env_sup(self) -> impl Iterator<Item = *mut *mut c_void> {
        let layout = &self.layout().job_details;
        let array = self.details().map(|details| {
            let array: *mut *mut *mut c_void = details.member(layout.env_sup).cast();
            // SAFETY: under the job lock; a pointer member of the details.
            (unsafe { array.read() }, usize::from(details.read(layout.env_cnt)))
        });
        let (first, count) = array.unwrap_or((std::ptr::null_mut(), 0));
        // SAFETY: env_sup holds env_cnt strings (SAFETY.md, "env_sup").
        (0..count).map(move |i| unsafe { first.add(i) })
    }
}

impl JobMut<'_> {
    /// Sets a variable.
    pub fn set_environment(&mut self, name: &str, value: &str) {
        let slot =
            self.env_sup().find(|slot| value_of(*slot, name).is_some()).or_else(|| self.grow_env_sup());
        let Some(slot) = slot else { return };
        let call = &self.host.slurmctld.call;
        let entry = c_string(&format!("{name}={value}"));
        // SAFETY: job write lock; the slot holds NULL or a string of Slurm's allocator, which xfree takes back,
        // and xstrdup's result is of the same allocator.
        unsafe {
            (call.xfree)(slot);
            slot.write((call.xstrdup)(entry.as_ptr()).cast());
        }
    }

    /// Takes a variable out; it need not be there.
    pub fn remove_environment(&mut self, name: &str) {
        let slots: Vec<_> = self.env_sup().collect();
        let Some(place) = slots.iter().position(|slot| value_of(*slot, name).is_some()) else { return };
        let (Some(details), Some(last)) = (self.details(), slots.last()) else { return };
        // SAFETY: job write lock; the string is of Slurm's allocator. The last entry takes the freed place, and
        // the array, one shorter now, keeps its memory.
        unsafe {
            (self.host.slurmctld.call.xfree)(slots[place]);
            slots[place].swap(*last);
        }
        let field = self.layout().job_details.env_cnt;
        details.write(field, details.read(field).saturating_sub(1));
    }

    /// One more entry at the end of `env_sup`, still NULL.
    fn grow_env_sup(&mut self) -> Option<*mut *mut c_void> {
        let layout = &self.layout().job_details;
        let details = self.details()?;
        let count = details.read(layout.env_cnt);
        let new_count = count.checked_add(1)?;
        let array: *mut *mut *mut c_void = details.member(layout.env_sup).cast();
        let (file, function) = (c"slurm-vipu".as_ptr(), c"grow_env_sup".as_ptr());
        let bytes = size_of::<*mut c_void>();
        // SAFETY: job write lock; an array of Slurm's allocator, or NULL, which becomes one longer, its new end
        // cleared, as Slurm itself does for burst buffers.
        unsafe {
            let call = &self.host.slurmctld.call;
            (call.xrecalloc)(array.cast(), usize::from(new_count), bytes, true, false, file, 0, function);
            details.write(layout.env_cnt, new_count);
            Some((*array).add(usize::from(count)))
        }
    }
}

/// The value of an entry `name=value`.
fn value_of(slot: *mut *mut c_void, name: &str) -> Option<String> {
    // SAFETY: a slot of env_sup under the job lock: NULL or a C string.
    let entry = unsafe { from_c(slot.read().cast()) }?;
    entry.strip_prefix(name)?.strip_prefix('=').map(str::to_owned)
}
