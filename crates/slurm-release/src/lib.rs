//! Facts about every known Slurm release: version numbers, struct layouts, constants.
//!
//! The facts are in `layouts.json` (measured from each release's own headers on x86_64, see
//! `docs/releases.md`); the build script turns them into the types here. Facts only: nothing in this
//! crate looks at a running Slurm.
#![forbid(unsafe_code)]

use std::marker::PhantomData;

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// Where a member is in its struct, and of which kind it is.
pub struct Field<T> {
    offset: u16,
    kind: PhantomData<T>,
}

/// The kind of a `char *` member.
#[derive(Debug, PartialEq, Eq)]
pub enum Text {}

/// The kind of a `char **` member.
#[derive(Debug, PartialEq, Eq)]
pub enum Texts {}

/// The kind of any other pointer member.
#[derive(Debug, PartialEq, Eq)]
pub enum Ptr {}

impl<T> Field<T> {
    const fn at(offset: u16) -> Self {
        Self { offset, kind: PhantomData }
    }

    /// Bytes from the start of the struct.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset as usize
    }
}

// Written out because a derive would ask the same of `T`.
impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Field<T> {}
impl<T> PartialEq for Field<T> {
    fn eq(&self, other: &Self) -> bool {
        self.offset == other.offset
    }
}
impl<T> Eq for Field<T> {}
impl<T> std::fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "@{}", self.offset)
    }
}

/// A Slurm release whose layouts are known.
#[derive(Debug)]
pub struct Release {
    /// `SLURM_VERSION_NUMBER`: major, minor and micro in a byte each.
    pub number: u32,
    /// As people write it: `22.05.8`.
    pub name: &'static str,
    /// Its struct layouts.
    pub layout: &'static Layout,
}

/// The releases on which the plugins were proven with real daemons; others are refused.
pub const PROVEN: &[&str] = &["22.05.8"];

impl Release {
    /// The release with this `SLURM_VERSION_NUMBER`, if it is known and proven.
    #[must_use]
    pub fn proven(number: u32) -> Option<&'static Release> {
        let release = RELEASES.iter().find(|release| release.number == number)?;
        PROVEN.contains(&release.name).then_some(release)
    }

    /// `22.05.8` for 0x160508, whether known or not.
    #[must_use]
    pub fn name_of(number: u32) -> String {
        format!("{}.{:02}.{}", number >> 16, number >> 8 & 0xff, number & 0xff)
    }
}

/// Whether a job_test with this mode word starts the job if it says yes.
///
/// PREEMPT together with CHECK_FULL is a rehearsal of preemption, though its base mode is RUN_NOW.
#[must_use]
pub fn is_run_now(mode: u16) -> bool {
    let mode = u32::from(mode);
    let rehearsal = SELECT_MODE_PREEMPT_FLAG | SELECT_MODE_CHECK_FULL;
    mode & SELECT_MODE_BASE == SELECT_MODE_RUN_NOW && mode & rehearsal != rehearsal
}

/// Whether a job_test with this mode word asks if the job could ever run.
#[must_use]
pub fn is_test_only(mode: u16) -> bool {
    u32::from(mode) & SELECT_MODE_BASE == SELECT_MODE_TEST_ONLY
}

/// Whether a job_test with this mode word asks when the job would start.
#[must_use]
pub fn is_will_run(mode: u16) -> bool {
    u32::from(mode) & SELECT_MODE_BASE == SELECT_MODE_WILL_RUN
}

/// Whether a job_test with this mode word is about starting the job, now or at a time it asks for.
///
/// Where nobody can tell that time the answer has to be no to both: backfill keeps nodes for a job that could
/// start now, and keeps them for ever if it then is refused.
#[must_use]
pub fn is_start(mode: u16) -> bool {
    is_run_now(mode) || is_will_run(mode)
}

/// The series, as a version number with micro 0, whose libslurm has this soname number.
///
/// `slurm_api_version()` of every release returns the soname number shifted left by 16.
#[must_use]
pub fn series_of_soname(soname: u32) -> Option<u32> {
    SERIES.iter().find(|(known, _)| *known == soname).map(|(_, series)| *series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proven_release_is_in_the_table_under_its_own_number() {
        for name in PROVEN {
            let release = RELEASES.iter().find(|release| release.name == *name).unwrap();
            assert_eq!(Release::name_of(release.number), *name);
            assert_eq!(Release::proven(release.number).unwrap().name, *name);
        }
        assert!(Release::proven(0x18_05_08).is_none(), "24.05.8 is known but was never run");
        assert!(Release::proven(0).is_none());
    }

    #[test]
    fn members_stay_inside_their_struct() {
        for release in RELEASES {
            let job = &release.layout.job_record;
            assert!(job.tres_per_node.offset() + 8 <= job.size.into(), "{}", release.name);
            assert!(matches!(release.layout.lock_size, 20 | 24), "{}", release.name);
        }
    }

    #[test]
    fn debian_12_reads_as_measured_on_the_running_daemon() {
        let layout = Release::proven(0x16_05_08).unwrap().layout;
        assert_eq!(layout.job_record.job_id.offset(), 360);
        assert_eq!(layout.job_record.details.offset(), 208);
        assert_eq!(layout.job_details.prolog_running.offset(), 344);
    }

    #[test]
    fn a_rehearsed_preemption_starts_nothing() {
        assert!(is_run_now(0x0000) && is_run_now(0x0100) && is_run_now(0x0400));
        assert!(!is_run_now(0x0300) && !is_run_now(0x0001) && !is_run_now(0x0002));
        assert!(is_test_only(0x0001) && is_test_only(0x0401) && !is_test_only(0x0002));
        assert!(is_will_run(0x0002) && is_will_run(0x0102) && !is_will_run(0x0001));
    }

    #[test]
    fn sonames_name_the_series() {
        assert_eq!(series_of_soname(38), Some(0x16_05_00));
        assert_eq!(series_of_soname(45), Some(0x1a_05_00));
        assert_eq!(series_of_soname(7), None);
    }
}
