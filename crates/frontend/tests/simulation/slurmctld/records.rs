//! The front end's traits on the simulated Slurm.

use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

use frontend::slurm::{self, SiteLicenses};
use ledger::Seconds;
use tokio::time::Instant;
use vipu_types::{GresType, IpuCount, PartitionEnd, PartitionId, RunEnd};

use super::Slurmctld;
use crate::cluster::Cluster;
use crate::slurm::{Job, Next, State, node_of};

/// A job.
#[derive(Clone, Copy)]
pub struct JobView<'a> {
    cluster: &'a Cluster,
    id: u32,
}

impl<'a> JobView<'a> {
    /// None for a job that does not exist.
    fn new(cluster: &'a Cluster, id: u32) -> Option<Self> {
        cluster.slurm.borrow().jobs.contains_key(&id).then_some(Self { cluster, id })
    }

    fn see<T>(self, see: impl FnOnce(&Job) -> T) -> T {
        see(&self.cluster.slurm.borrow().jobs[&self.id])
    }
}

macro_rules! answers {
    ($($name:ident: $type:ty = $see:expr;)*) => {
        $(fn $name(self) -> $type { self.see($see) })*
    };
}

/// Facts that are the same for all jobs here.
macro_rules! none {
    ($($type:ty: $($fact:ident)*;)*) => { $($(fn $fact(self) -> $type { <$type>::default() })*)* };
}

impl slurm::Job for JobView<'_> {
    none! {
        bool: is_in_reservation is_backfill_test is_test_of_now is_unsplit_array is_being_preempted is_in_pre_run
            is_suspended takes_whole_nodes gets_all_gres has_lost_count;
        u32: het_job het_offset tasks_left;
        Option<i64>: deadline;
        Option<(u32, u32)>: array;
        Option<String>: qos name account licenses system_comment;
    }

    answers! {
        user: u32 = |job| job.user;
        restart_count: u16 = |job| job.restart;
        start_time: i64 = |job| job.start;
        end_time: i64 = |job| job.start + job.limit();
        time_limit: i64 = Job::limit;
        priority: u32 = |job| match job.state {
            State::Held | State::Completing(Next::Held) => 0,
            _ => 1000,
        };
        priority_tier: u16 = |_| 1;
        slurm_partition: Option<String> = |_| Some("batch".to_owned());
        slurm_partitions: Option<String> = |_| Some("batch".to_owned());
        slurm_partition_address: usize = |_| 1;
        tres_per_node: Option<String> = |job| Some(job.tres());
        reason: Option<String> = |job| job.reason.clone();
        shown_reason: Option<String> = |job| job.reason.clone();
        nodes: Vec<u32> = |_| vec![0];
        node_names: Vec<String> = |job| (job.start != 0).then(|| node_of(job.id)).into_iter().collect();
        batch_host: Option<String> = |job| Some(node_of(job.id));
        nodes_done: bool = |job| job.nodes_done <= Instant::now();
        mentions_vipu: bool = |_| true;
        is_batch: bool = |job| job.is_batch;
        is_awaited: bool = |_| true;
        is_pending: bool = |job| {
            let requeued = matches!(job.state, State::Completing(Next::Pending | Next::Held));
            requeued || matches!(job.state, State::Pending | State::Held)
        };
        is_running: bool = |job| matches!(job.state, State::Configuring | State::Running);
        is_configuring: bool = |job| job.state == State::Configuring;
        is_completing: bool = |job| matches!(job.state, State::Completing(_));
        run_end: Option<RunEnd> = Job::run_end;
        has_lost_node: bool = |job| job.has_lost_node;
        waits_in_line: bool = |job| job.state == State::Pending;
        ipus_are_counted: bool = |_| true;
    }

    fn id(self) -> u32 {
        self.id
    }

    fn submit_time(self) -> i64 {
        self.cluster.seconds_at(self.see(|job| job.since))
    }

    fn begin_time(self) -> i64 {
        self.cluster.seconds_at(self.see(|job| job.begin))
    }

    fn options(self, _: &str) -> Vec<String> {
        self.see(Job::options)
    }

    fn environment(self, name: &str) -> Option<String> {
        self.see(|job| job.environment.get(name).cloned())
    }

    fn has_counted(self, _: &GresType, _: IpuCount) -> bool {
        true
    }

    fn exit_status(self) -> u32 {
        self.see(|job| u32::from(job.exit_code.unwrap_or_default()) << 8)
    }

    /// Backfill tries some jobs. Their partitions are made once they have nodes.
    fn is_tried_by_backfill(self) -> bool {
        self.cluster.chance(0.2)
    }

    fn may_be_requeued(self) -> bool {
        self.is_batch()
    }

    fn other(self, id: u32) -> Option<Self> {
        Self::new(self.cluster, id)
    }

    fn components(self) -> Vec<Self> {
        Vec::new()
    }
}

/// A job that may be changed.
pub struct JobChange<'a>(JobView<'a>);

impl<'a> JobChange<'a> {
    /// None for a job that does not exist.
    pub fn new(cluster: &'a Cluster, id: u32) -> Option<Self> {
        JobView::new(cluster, id).map(Self)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Job) -> T) -> T {
        change(self.0.cluster.slurm.borrow_mut().jobs.get_mut(&self.0.id).expect("it is there"))
    }
}

impl<'a> Deref for JobChange<'a> {
    type Target = JobView<'a>;

    fn deref(&self) -> &JobView<'a> {
        &self.0
    }
}

macro_rules! nothing {
    ($($name:ident($($kind:ty),*);)*) => { $(fn $name(&mut self $(, _: $kind)*) {})* };
}

impl slurm::JobMut for JobChange<'_> {
    nothing! {
        expect_start_of_components(i64);
        configure_again();
        expect_end_of_script();
        split_off(u32);
        forget_batch_host();
        end_by_deadline();
        expect_start(i64);
        replace_in_system_comment(&str, &str);
        set_script_environment(&str, &str);
        clean_script_environment(&str);
        enter_requested_ipus(&GresType, u64);
        enter_ipus_for_limits(&GresType, u64);
        count_again(&GresType, IpuCount);
        write_partition_line(&PartitionId, i64, Option<PartitionEnd>);
        end_waiver(&slurm::Waiver);
    }

    fn raise_launch_gate(&mut self) {
        self.change(|job| job.launch_gates += 1);
    }

    fn take_back_launch_gate(&mut self) {
        self.change(|job| job.launch_gates = job.launch_gates.saturating_sub(1));
    }

    fn raise_completion_gate(&mut self) {
        self.change(|job| job.completion_gates += 1);
    }

    fn count_restart(&mut self) {
        self.change(|job| job.restart += 1);
    }

    fn hold(&mut self) {
        self.change(|job| job.enter(State::Held));
    }

    fn begin_soon(&mut self, delay: Duration) {
        self.change(|job| job.begin = job.begin.max(Instant::now() + delay));
    }

    fn set_reason(&mut self, text: &str) {
        self.change(|job| job.reason = Some(text.to_owned()));
    }

    fn clear_reason(&mut self) {
        self.change(|job| job.reason = None);
    }

    fn wait_for_its_turn(&mut self) {
        self.clear_reason();
    }

    fn set_environment(&mut self, name: &str, value: &str) {
        self.change(|job| job.environment.insert(name.to_owned(), value.to_owned()));
    }

    fn remove_environment(&mut self, name: &str) {
        self.change(|job| job.environment.remove(name));
    }

    fn enter_allocated_ipus(&mut self, _: &GresType, _: IpuCount) -> bool {
        self.change(|job| job.is_entered = true);
        true
    }

    fn clear_allocated_ipus(&mut self) {
        self.change(|job| job.is_entered = false);
    }

    fn is_within_limits(&mut self, _: &GresType, _: u64) -> bool {
        true
    }

    fn waive_ipu_limits(&mut self) -> slurm::Waiver {
        slurm::Waiver::default()
    }
}

/// Slurm's locks. Nothing waits for them here, because one thing is done at a time.
#[derive(Clone)]
pub struct Locks<'a>(pub &'a Rc<Slurmctld>);

impl<'a> slurm::Slurm for Locks<'a> {
    type Job<'lock> = JobView<'lock>;
    type Locked<'lock>
        = Locks<'a>
    where
        Self: 'lock;

    fn look_at<R>(&mut self, jobs: &[u32], see: impl Fn(JobView<'_>) -> R) -> Vec<Option<R>> {
        jobs.iter().map(|job| JobView::new(&self.0.cluster, *job).map(&see)).collect()
    }

    fn pending_with_ipus(&mut self) -> Vec<u32> {
        let jobs = &self.0.cluster.slurm.borrow().jobs;
        jobs.values()
            .filter(|job| matches!(job.state, State::Pending | State::Held))
            .map(|job| job.id)
            .collect()
    }

    fn ask_nodes(&mut self, nodes: &[String]) -> Vec<String> {
        nodes.iter().for_each(|node| self.0.ask_node(node.clone()));
        Vec::new()
    }

    fn licenses(&mut self) -> SiteLicenses {
        SiteLicenses::default()
    }

    fn write(&mut self) -> Locks<'a> {
        self.clone()
    }

    fn open_completion_gate(&mut self, job: u32) {
        self.0.open_completion_gate(job);
    }

    fn kick_scheduler(&mut self) {
        self.0.kick();
    }
}

impl slurm::Locked for Locks<'_> {
    type Job<'lock>
        = JobChange<'lock>
    where
        Self: 'lock;

    fn job(&mut self, job: u32) -> Option<JobChange<'_>> {
        JobChange::new(&self.0.cluster, job)
    }

    fn task(&mut self, _: u32, _: u32) -> Option<JobChange<'_>> {
        None // It has no job arrays.
    }

    fn pass_over_ids(&mut self, _: &[u32]) {}

    fn open_launch_gate(&mut self, job: u32) {
        self.0.open_launch_gate(job);
    }

    fn open_launch_gate_of_launched(&mut self, job: u32, _: Seconds) {
        self.0.open_launch_gate_of_launched(job);
    }

    fn launch_again(&mut self, job: u32) {
        self.0.launch(job);
    }

    fn requeue(&mut self, job: u32, held: bool) -> bool {
        self.0.requeue_now(job, if held { Next::Held } else { Next::Pending })
    }

    fn requeue_until(&mut self, job: u32, begin: Seconds) -> bool {
        let begin = self.0.cluster.instant_at(begin);
        let is_back = self.requeue(job, false);
        if let Some(job) = JobChange::new(&self.0.cluster, job).filter(|_| is_back) {
            job.change(|job| job.begin = begin);
        }
        is_back
    }

    fn send_back(&mut self, job: u32, held: bool) -> bool {
        self.0.cluster.counts.borrow_mut().failed += 1;
        self.0.cluster.counts.borrow_mut().held += u64::from(held);
        self.requeue(job, held)
    }

    fn end_failed(&mut self, job: u32) {
        self.0.cluster.counts.borrow_mut().failed += 1;
        self.0.end(job, Next::Over, Duration::ZERO);
    }

    fn end_with(&mut self, job: u32, status: Option<u32>) {
        self.0.end_with(job, status);
    }

    fn end_on_nodes(&mut self, _: u32, _: &[String]) {}

    fn tell_user(&mut self, _: u32, _: &str) {}

    fn tell_terminal(&mut self, _: u32, _: &str) {}
}
