//! Slurm, as far as the front end reads and changes it. Crate `slurmctld-vipu` implements these traits on
//! Slurm's records, and tests on records of their own.
//!
//! The methods have the names and the meanings of those in `slurm_host`, which documents each member of
//! Slurm's records.

use std::ops::{Deref, RangeInclusive};
use std::time::Duration;

use ledger::Seconds;
use vipu_types::{GresType, IpuCount, PartitionEnd, PartitionId, Words};

/// Calls a macro with all facts of a job that are methods of [`Job`] without arguments, by type. The trait, its
/// implementation on Slurm's records and the fake job of tests have them from here.
#[macro_export]
macro_rules! job_facts {
    ($with:ident!) => {
        $with! {
            u16: restart_count priority_tier;
            u32: id user priority het_job het_offset exit_status tasks_left;
            usize: slurm_partition_address;
            i64: start_time end_time begin_time submit_time time_limit;
            bool: is_in_reservation nodes_done mentions_vipu is_batch is_awaited is_backfill_test
                is_tried_by_backfill is_test_of_now is_unsplit_array is_being_preempted is_in_pre_run
                is_pending is_running is_suspended is_configuring is_completing has_lost_node may_be_requeued
                waits_in_line takes_whole_nodes gets_all_gres ipus_are_counted has_lost_count;
            Option<i64>: deadline;
            Option<(u32, u32)>: array;
            Option<vipu_types::RunEnd>: run_end;
            Option<String>: slurm_partition slurm_partitions qos tres_per_node reason shown_reason system_comment batch_host
                name account licenses;
            Vec<u32>: nodes;
            Vec<String>: node_names;
        }
    };
}

macro_rules! methods {
    ($($type:ty: $($fact:ident)*;)*) => { $($(fn $fact(self) -> $type;)*)* };
}

/// A job, under at least the job read lock.
#[allow(missing_docs, reason = "each is documented where it is implemented on Slurm's record")]
pub trait Job: Copy {
    job_facts! { methods! }
    fn options(self, beginning: &str) -> Vec<String>;
    fn environment(self, name: &str) -> Option<String>;
    fn has_counted(self, of: &GresType, size: IpuCount) -> bool;

    /// Another job, under the same lock.
    fn other(self, id: u32) -> Option<Self>;
    /// The components of its heterogeneous job, the leader first. None for other jobs.
    fn components(self) -> Vec<Self>;
}

/// The id of the job, or of the leader of its heterogeneous job. Slurm requeues and releases a heterogeneous
/// job as a whole.
pub(crate) fn leader_of(job: impl Job) -> u32 {
    if job.het_job() == 0 { job.id() } else { job.het_job() }
}

/// The command with which an administrator or user releases a held job. The id of a task's record may be that of its
/// array, and would name all tasks.
pub(crate) fn release_command(job: impl Job) -> String {
    match job.array() {
        Some((array, task)) => format!("scontrol release {array}_{task}"),
        None => format!("scontrol release {}", leader_of(job)),
    }
}

/// A job, under the job write lock.
#[allow(missing_docs, reason = "each is documented where it is implemented on Slurm's record")]
pub trait JobMut: Deref<Target: Job> {
    fn raise_launch_gate(&mut self);
    fn take_back_launch_gate(&mut self);
    fn raise_completion_gate(&mut self);
    fn configure_again(&mut self);
    fn expect_end_of_script(&mut self);
    fn count_restart(&mut self);
    fn split_off(&mut self, task: u32);
    fn forget_batch_host(&mut self);
    fn hold(&mut self);
    fn begin_soon(&mut self, delay: Duration);
    fn end_by_deadline(&mut self);
    fn expect_start(&mut self, time: i64);
    fn expect_start_of_components(&mut self, time: i64);
    fn set_reason(&mut self, text: &str);
    fn clear_reason(&mut self);
    fn wait_for_its_turn(&mut self);
    fn replace_in_system_comment(&mut self, beginning: &str, text: &str);
    fn set_environment(&mut self, name: &str, value: &str);
    fn remove_environment(&mut self, name: &str);
    fn set_script_environment(&mut self, name: &str, value: &str);
    fn clean_script_environment(&mut self, forged: &str);
    fn enter_requested_ipus(&mut self, of: &GresType, ipus: u64);
    fn enter_ipus_for_limits(&mut self, of: &GresType, ipus: u64);
    fn enter_allocated_ipus(&mut self, of: &GresType, size: IpuCount) -> bool;
    fn clear_allocated_ipus(&mut self);
    fn count_again(&mut self, of: &GresType, size: IpuCount);
    fn write_partition_line(&mut self, partition: &PartitionId, start: i64, end: Option<PartitionEnd>);
    fn is_within_limits(&mut self, of: &GresType, ipus: u64) -> bool;
    fn waive_ipu_limits(&mut self) -> Waiver;
    fn end_waiver(&mut self, waiver: &Waiver);
}

/// The marks of limits that were replaced in a job's record, with their places. A limit with a mark does not
/// apply to the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiver(pub Vec<(usize, u16)>);

/// The question of a scheduler's test of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether the job may start now. Slurm starts it after a yes.
    Start,
    /// When the job would start.
    When,
    /// Whether the job could ever run.
    Ever,
    /// Any other question, for example a trial of preemption.
    Other,
}

/// The answer to a test of a job.
pub enum Verdict {
    /// The stock selector decides.
    Go,
    /// Yes, and the stock selector need not be asked.
    Answered,
    /// Not now. squeue shows the reason.
    Wait,
    /// Never: no configuration could meet the request.
    Never,
    /// The test has to be repeated: other nodes may do.
    Again,
}

/// The arguments of a test beside the job: nodes, jobs that may be preempted, and a time.
#[allow(missing_docs, reason = "each is documented where it is implemented on Slurm's arguments")]
pub trait Test {
    /// A job that may be preempted.
    type Job: Job;

    fn may_preempt(&self) -> bool;
    fn candidates(&self) -> Vec<Self::Job>;
    fn has_victims(&self) -> bool;
    fn preempt(&mut self, victims: &[Self::Job]);
    /// The fewest nodes with which the job can run.
    fn fewest(&self) -> u32;
    fn chosen(&self) -> Vec<u32>;
    fn leave_out(&mut self, nodes: &[u32]);
    fn put_back(&mut self, nodes: &[u32]);
    fn keep_no_node(&mut self);
    fn not_before(&self) -> Option<i64>;
    fn forget_not_before(&mut self);
}

/// A job as it is submitted, or a change of one.
#[allow(missing_docs, reason = "each is documented where it is implemented on Slurm's message")]
pub trait JobDescription {
    fn tres_per_node(&self) -> Option<String>;
    fn other_tres(&self) -> [(&'static str, Option<String>); 3];
    fn slurm_partitions(&self) -> Option<String>;
    fn default_slurm_partition(&self) -> Option<String>;
    fn qos(&self) -> Option<String>;
    fn licenses(&self) -> Option<String>;
    /// The licences of the cluster: `Licenses` in slurm.conf.
    fn site_licenses(&self) -> Option<String>;
    fn names_reservation(&self) -> bool;
    /// The number of this component of a heterogeneous job. Slurm submits all components on one thread, one after the
    /// other.
    fn component(&self) -> Option<u32>;
    /// The numbers of nodes that the job asks for.
    fn asked_nodes(&self) -> RangeInclusive<u32>;
    fn is_batch(&self) -> bool;
    fn mentions_vipu(&self) -> bool;
    fn options(&self, beginning: &str) -> Vec<String>;
    fn clean_script_environment(&mut self, forged: &str);
    fn add_gres(&mut self, element: &str);
    fn set_tres_per_node(&mut self, tres: &str);
    fn set_licenses(&mut self, licenses: &str);
    /// Asks for exactly this number of nodes.
    ///
    /// # Errors
    /// The reason why the message cannot be changed.
    fn set_nodes(&mut self, count: u32) -> Result<(), Words>;
    /// Asks for nodes that no other job shares.
    fn take_whole_nodes(&mut self);
    /// All Slurm partitions, if they can be read.
    fn all_slurm_partitions(&self) -> Option<impl SlurmPartitions>;
}

/// The offers of the nodes of each Slurm partition.
pub trait SlurmPartitions {
    /// The names of all Slurm partitions.
    fn names(&self) -> Vec<String>;
    /// Whether a node of this Slurm partition has IPUs, of this type if one is given. `None` for an unknown
    /// Slurm partition.
    fn have(&self, slurm_partition: &str, of: Option<&GresType>) -> Option<bool>;
}

/// The licences that the cluster has, and the reservations of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteLicenses {
    /// `Licenses` in slurm.conf.
    pub all: String,
    /// The reservations.
    pub reservations: Vec<ReservedLicenses>,
}

/// A reservation with licences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedLicenses {
    /// The licences, in the form of `Licenses`.
    pub licenses: String,
    /// The start of the reservation.
    pub from: Seconds,
    /// Its end.
    pub until: Seconds,
}

/// slurmctld's locks, for the one thread that may take them.
pub trait Slurm {
    /// A job under the job read lock.
    type Job<'lock>: Job;
    /// The job write lock.
    type Locked<'lock>: Locked
    where
        Self: 'lock;

    /// Looks at jobs under the job read lock. The answer has one entry for each id: `None` if Slurm has no
    /// job with that id.
    fn look_at<R>(&mut self, jobs: &[u32], see: impl Fn(Self::Job<'_>) -> R) -> Vec<Option<R>>;
    /// The ids of the pending jobs that ask for IPUs.
    fn pending_with_ipus(&mut self) -> Vec<u32>;
    /// Asks these nodes which jobs run there; the answers come as [`crate::HostTask::NodesTold`], so that no node waits
    /// for another. Returns the nodes that cannot be asked: they are down, powered down or unknown to Slurm.
    fn ask_nodes(&mut self, nodes: &[String]) -> Vec<String>;
    /// The licences that the cluster has, and the reservations of them.
    fn licenses(&mut self) -> SiteLicenses;
    /// Takes the job write lock. Waits while a scheduling pass holds it.
    fn write(&mut self) -> Self::Locked<'_>;
    /// Opens the completion gate of a job, so that it may leave COMPLETING.
    fn open_completion_gate(&mut self, job: u32);
    /// Makes the main scheduler look at the queue now, or soon.
    fn kick_scheduler(&mut self);
}

/// The job write lock, held until this is dropped.
#[allow(missing_docs, reason = "each is documented where it is implemented on slurmctld's functions")]
pub trait Locked {
    /// A job under this lock.
    type Job<'lock>: JobMut
    where
        Self: 'lock;

    fn job(&mut self, job: u32) -> Option<Self::Job<'_>>;
    fn task(&mut self, array: u32, task: u32) -> Option<Self::Job<'_>>;
    fn pass_over_ids(&mut self, given: &[u32]);
    fn open_launch_gate(&mut self, job: u32);
    fn open_launch_gate_of_launched(&mut self, job: u32, at: Seconds);
    fn launch_again(&mut self, job: u32);
    fn requeue(&mut self, job: u32, held: bool) -> bool;
    fn requeue_until(&mut self, job: u32, begin: Seconds) -> bool;
    fn send_back(&mut self, job: u32, held: bool) -> bool;
    fn end_failed(&mut self, job: u32);
    fn end_with(&mut self, job: u32, status: Option<u32>);
    fn end_on_nodes(&mut self, job: u32, nodes: &[String]);
    fn tell_user(&mut self, job: u32, line: &str);
    fn tell_terminal(&mut self, job: u32, line: &str);
}
