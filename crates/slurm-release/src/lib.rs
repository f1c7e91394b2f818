//! Facts about every known Slurm release: version numbers, struct layouts, constants.
//!
//! The facts are in `layouts.json`, measured from each release's own headers on x86_64 (see
//! `docs/releases.md`). The build script turns them into the types here. For another release, a site can
//! measure a [`table_file`] from the source. The crate has facts only and looks at no running Slurm.
#![forbid(unsafe_code)]

mod field;
mod mode;
mod release;
pub mod table_file;

pub use field::{Field, Ptr, Text, Texts};
pub use mode::{is_run_now, is_start, is_test_only, is_will_run};
pub use release::{Release, Series, Version, known_releases};

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// A struct of Slurm, and its measured members.
#[derive(Debug)]
pub struct Struct {
    /// The name here and in table files.
    pub name: &'static str,
    /// The type in Slurm's headers. 22.05 has no `job_details_t`, only `struct job_details`.
    pub c_type: &'static str,
    /// Each member with its kind: `u8`, `u16`, `u32`, `u64`, `i64`, `bool`, `str` (char *), `strs` (char **)
    /// or `ptr`.
    pub members: &'static [(&'static str, &'static str)],
}

impl Layout {
    /// Whether the plugins can pass `slurmctld_lock_t` by value: five locks in the known order, and at most
    /// one more behind them.
    pub fn has_usable_locks(&self) -> bool {
        let lock = &self.slurmctld_lock;
        let places = [lock.conf, lock.job, lock.node, lock.part, lock.fed].map(|field| field.offset());
        matches!(lock.size, 20 | 24) && places == [0, 4, 8, 12, 16]
    }
}
