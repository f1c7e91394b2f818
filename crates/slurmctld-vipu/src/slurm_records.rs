//! The front end's traits on Slurm's records, which crate `slurm-host` reads and writes.

use std::ops::{Deref, RangeInclusive};
use std::sync::Weak;
use std::time::Duration;

use frontend::slurm::{self, Job, JobMut, Question, ReservedLicenses, SiteLicenses, SlurmPartitions, Waiver};
use ledger::Seconds;
use slurm_host::job::JobRef;
use slurm_host::job_test::Test;
use slurm_host::locks::{LockPermit, Locked};
use slurm_host::node_table::Askable;
use slurm_host::release::{is_run_now, is_test_only, is_will_run};
use slurm_host::reservations::Reservation;
use slurm_host::submit::JobDescription;
use slurm_host::{conf, job, partitions};
use vipu_types::{GresType, IpuCount, PartitionEnd, PartitionId, Words};

use crate::plugin::Plugin;
use crate::{node_gres, node_questions};

/// The question of a test with this mode word.
pub(crate) fn question(mode: u16) -> Question {
    match mode {
        mode if is_run_now(mode) => Question::Start,
        mode if is_will_run(mode) => Question::When,
        mode if is_test_only(mode) => Question::Ever,
        _ => Question::Other,
    }
}

/// A job under at least the job read lock.
#[derive(Clone, Copy)]
pub(crate) struct SlurmJob<'lock>(pub(crate) JobRef<'lock>);

/// A job under the job write lock.
pub(crate) struct SlurmJobMut<'lock> {
    view: SlurmJob<'lock>,
    job: job::JobMut<'lock>,
}

impl<'lock> SlurmJobMut<'lock> {
    pub(crate) fn new(job: job::JobMut<'lock>) -> Self {
        Self { view: SlurmJob(*job), job }
    }

    /// See [`job::JobMut::give_up_resources`].
    pub(crate) fn give_up_resources(&mut self) {
        self.job.give_up_resources();
    }
}

impl<'lock> Deref for SlurmJobMut<'lock> {
    type Target = SlurmJob<'lock>;

    fn deref(&self) -> &Self::Target {
        &self.view
    }
}

/// Methods that call those of the same names in `slurm-host`.
macro_rules! of_slurm_host {
    ($receiver:ty, $field:tt: $($name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {
        $(fn $name(self: $receiver $(, $argument: $kind)*) $(-> $result)? {
            self.$field.$name($($argument),*)
        })*
    };
}

macro_rules! facts_of_slurm_host {
    ($($type:ty: $($fact:ident)*;)*) => { $($(fn $fact(self) -> $type { self.0.$fact() })*)* };
}

impl Job for SlurmJob<'_> {
    frontend::job_facts! { facts_of_slurm_host! }

    of_slurm_host! { Self, 0:
        options(beginning: &str) -> Vec<String>;
        environment(name: &str) -> Option<String>;
        has_counted(of: &GresType, size: IpuCount) -> bool;
    }

    fn other(self, id: u32) -> Option<Self> {
        self.0.other(id).map(SlurmJob)
    }

    fn components(self) -> Vec<Self> {
        self.0.components().into_iter().map(SlurmJob).collect()
    }
}

impl JobMut for SlurmJobMut<'_> {
    of_slurm_host! { &mut Self, job:
        raise_launch_gate();
        take_back_launch_gate();
        raise_completion_gate();
        configure_again();
        expect_end_of_script();
        count_restart();
        split_off(task: u32);
        forget_batch_host();
        hold();
        begin_soon(delay: Duration);
        end_by_deadline();
        expect_start(time: i64);
        expect_start_of_components(time: i64);
        set_reason(text: &str);
        clear_reason();
        wait_for_its_turn();
        replace_in_system_comment(beginning: &str, text: &str);
        set_environment(name: &str, value: &str);
        remove_environment(name: &str);
        set_script_environment(name: &str, value: &str);
        clean_script_environment(forged: &str);
        enter_requested_ipus(of: &GresType, ipus: u64);
        enter_ipus_for_limits(of: &GresType, ipus: u64);
        enter_allocated_ipus(of: &GresType, size: IpuCount) -> bool;
        clear_allocated_ipus();
        count_again(of: &GresType, size: IpuCount);
        write_partition_line(partition: &PartitionId, start: i64, end: Option<PartitionEnd>);
        is_within_limits(of: &GresType, ipus: u64) -> bool;
    }

    fn waive_ipu_limits(&mut self) -> Waiver {
        Waiver(self.job.waive_ipu_limits())
    }

    fn end_waiver(&mut self, waiver: &Waiver) {
        self.job.end_waiver(&waiver.0);
    }
}

/// The arguments of a job_test.
pub(crate) struct SlurmTest<'lock>(pub(crate) Test<'lock>);

impl<'lock> slurm::Test for SlurmTest<'lock> {
    type Job = SlurmJob<'lock>;

    of_slurm_host! { &Self, 0:
        may_preempt() -> bool;
        has_victims() -> bool;
        chosen() -> Vec<u32>;
        not_before() -> Option<i64>;
    }

    of_slurm_host! { &mut Self, 0:
        leave_out(nodes: &[u32]);
        put_back(nodes: &[u32]);
        keep_no_node();
        forget_not_before();
    }

    fn candidates(&self) -> Vec<SlurmJob<'lock>> {
        self.0.candidates().into_iter().map(SlurmJob).collect()
    }

    fn preempt(&mut self, victims: &[SlurmJob<'lock>]) {
        let victims: Vec<_> = victims.iter().map(|victim| victim.0).collect();
        self.0.preempt(&victims);
    }

    fn fewest(&self) -> u32 {
        self.0.nodes().1
    }
}

/// The message of a submit or of a change.
pub(crate) struct SlurmDescription<'call>(pub(crate) JobDescription<'call>);

impl slurm::JobDescription for SlurmDescription<'_> {
    of_slurm_host! { &Self, 0:
        tres_per_node() -> Option<String>;
        other_tres() -> [(&'static str, Option<String>); 3];
        slurm_partitions() -> Option<String>;
        default_slurm_partition() -> Option<String>;
        qos() -> Option<String>;
        licenses() -> Option<String>;
        names_reservation() -> bool;
        component() -> Option<u32>;
        asked_nodes() -> RangeInclusive<u32>;
        is_batch() -> bool;
        mentions_vipu() -> bool;
        options(beginning: &str) -> Vec<String>;
    }

    of_slurm_host! { &mut Self, 0:
        set_nodes(count: u32) -> Result<(), Words>;
        take_whole_nodes();
        clean_script_environment(forged: &str);
        add_gres(element: &str);
        set_tres_per_node(tres: &str);
        set_licenses(licenses: &str);
    }

    fn site_licenses(&self) -> Option<String> {
        conf::licenses()
    }

    fn all_slurm_partitions(&self) -> Option<impl SlurmPartitions> {
        self.0.all_slurm_partitions().map(Partitions)
    }
}

/// Slurm's partitions, in a submit or a change.
struct Partitions<'call>(partitions::SlurmPartitions<'call>);

impl SlurmPartitions for Partitions<'_> {
    of_slurm_host! { &Self, 0: names() -> Vec<String>; }

    fn have(&self, slurm_partition: &str, of: Option<&GresType>) -> Option<bool> {
        self.0.has_node(slurm_partition, &|node| node_gres::offers(node, of))
    }
}

/// slurmctld's locks, and the plugin that hears the answers of nodes.
pub(crate) struct Slurm {
    pub(crate) permit: LockPermit,
    pub(crate) plugin: Weak<Plugin>,
}

impl slurm::Slurm for Slurm {
    type Job<'lock> = SlurmJob<'lock>;
    type Locked<'lock> = SlurmLocked<'lock>;

    fn look_at<R>(&mut self, jobs: &[u32], see: impl Fn(SlurmJob<'_>) -> R) -> Vec<Option<R>> {
        self.permit.look_at(jobs, |job| see(SlurmJob(job)))
    }

    fn ask_nodes(&mut self, nodes: &[String]) -> Vec<String> {
        if nodes.is_empty() {
            return Vec::new();
        }
        let Askable { down, protocol } = self.permit.askable(nodes);
        let asked: Vec<_> = nodes.iter().filter(|node| !down.contains(node)).cloned().collect();
        node_questions::ask(&asked, protocol, &self.plugin);
        down
    }

    fn licenses(&mut self) -> SiteLicenses {
        let (all, reservations) = self.permit.licenses();
        let reserved = |it: Reservation| ReservedLicenses {
            licenses: it.licenses,
            from: Seconds(it.start),
            until: Seconds(it.end),
        };
        let reservations = reservations.into_iter().map(reserved).collect();
        SiteLicenses { all: all.unwrap_or_default(), reservations }
    }

    fn write(&mut self) -> SlurmLocked<'_> {
        SlurmLocked(self.permit.write())
    }

    of_slurm_host! { &mut Self, permit:
        pending_with_ipus() -> Vec<u32>;
        open_completion_gate(job: u32);
        kick_scheduler();
    }
}

/// slurmctld's job write lock.
pub(crate) struct SlurmLocked<'thread>(Locked<'thread>);

impl slurm::Locked for SlurmLocked<'_> {
    type Job<'lock>
        = SlurmJobMut<'lock>
    where
        Self: 'lock;

    fn job(&mut self, job: u32) -> Option<SlurmJobMut<'_>> {
        self.0.job(job).map(SlurmJobMut::new)
    }

    fn task(&mut self, array: u32, task: u32) -> Option<SlurmJobMut<'_>> {
        self.0.task(array, task).map(SlurmJobMut::new)
    }

    fn open_launch_gate_of_launched(&mut self, job: u32, at: Seconds) {
        self.0.open_launch_gate_of_launched(job, at.0);
    }

    fn requeue_until(&mut self, job: u32, begin: Seconds) -> bool {
        self.0.requeue_until(job, begin.0)
    }

    of_slurm_host! { &mut Self, 0:
        pass_over_ids(given: &[u32]);
        open_launch_gate(job: u32);
        launch_again(job: u32);
        requeue(job: u32, held: bool) -> bool;
        send_back(job: u32, held: bool) -> bool;
        end_failed(job: u32);
        end_with(job: u32, status: Option<u32>);
        end_on_nodes(job: u32, nodes: &[String]);
        tell_user(job: u32, line: &str);
        tell_terminal(job: u32, line: &str);
    }
}
