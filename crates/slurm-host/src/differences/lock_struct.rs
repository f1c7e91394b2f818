//! `slurmctld_lock_t` has five members and 20 bytes up to 25.11, and six and 24 from 26.05 on.

/// slurmctld's locks, as `lock_slurmctld` takes them by value.
///
/// Both sizes occupy 24 bytes of the stack when they are passed by value on x86_64. The larger size serves
/// both: a release with five members does not look at the sixth.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Locks {
    pub(crate) conf: u32,
    pub(crate) job: u32,
    pub(crate) node: u32,
    pub(crate) part: u32,
    pub(crate) fed: u32,
    pub(crate) select_node: u32,
}
