//! The fake Slurm at the level of one callback: a job, its message and the arguments of its test are plain structs, and
//! time passes at the word of a test. It is for the answers of the front end, one by one: the tests of its policy and the fuzz target `jobs`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Deref, RangeInclusive};
use std::time::Duration;

use frontend::slurm::{self, Waiver};
use vipu_types::{GresType, IpuCount, PartitionEnd, PartitionId, Words};

macro_rules! members {
    ($($type:ty: $($fact:ident)*;)*) => {
        /// A job, and the message that submits or changes it.
        #[derive(Clone, Debug, Default)]
        pub struct FakeJob {
            $($(pub $fact: $type,)*)*
            /// The options of slurm-vipu, as `ipus=4`.
            pub options: Vec<String>,
            pub environment: BTreeMap<String, String>,
            /// The most IPUs that Slurm's limits allow.
            pub most_ipus: Option<u64>,
            pub default_slurm_partition: Option<String>,
            pub site_licenses: Option<String>,
            pub names_reservation: bool,
            pub component: Option<u32>,
            /// The requests for TRES per job, per task and per socket.
            pub other_tres: [Option<String>; 3],
            /// The numbers of nodes that `-N` gives.
            pub asked_nodes: Option<RangeInclusive<u32>>,
            /// All Slurm partitions with the GRES types of their nodes, if they can be read.
            pub offers: Option<BTreeMap<String, Vec<GresType>>>,
        }
    };
}

frontend::job_facts! { members! }

impl FakeJob {
    /// Its request. `tres_per_node` and `mentions_vipu` belong together.
    pub fn with_tres(self, tres: &str) -> Self {
        Self { tres_per_node: Some(tres.to_owned()), mentions_vipu: tres.contains("vipu"), ..self }
    }
}

/// The jobs of a Slurm.
#[derive(Default)]
pub struct FakeSlurm(RefCell<BTreeMap<u32, FakeJob>>);

impl FakeSlurm {
    /// Enters a job, in place of an earlier one with its id.
    pub fn enter(&self, job: FakeJob) -> View<'_> {
        let id = job.id;
        self.0.borrow_mut().insert(id, job);
        self.job(id)
    }

    /// A job that was entered.
    pub fn job(&self, id: u32) -> View<'_> {
        View { slurm: self, id }
    }

    /// The jobs, as they are now.
    pub fn jobs(&self) -> Vec<FakeJob> {
        self.0.borrow().values().cloned().collect()
    }
}

/// A job under a lock, or its message.
#[derive(Clone, Copy)]
pub struct View<'a> {
    slurm: &'a FakeSlurm,
    id: u32,
}

impl View<'_> {
    pub fn see<T>(self, see: impl FnOnce(&FakeJob) -> T) -> T {
        see(&self.slurm.0.borrow()[&self.id])
    }

    pub fn change(self, change: impl FnOnce(&mut FakeJob)) {
        change(self.slurm.0.borrow_mut().get_mut(&self.id).unwrap());
    }
}

macro_rules! answers {
    ($($type:ty: $($fact:ident)*;)*) => { $($(
        #[allow(clippy::clone_on_copy, reason = "facts of any type")]
        fn $fact(self) -> $type {
            self.see(|job| job.$fact.clone())
        }
    )*)* };
}

impl slurm::Job for View<'_> {
    frontend::job_facts! { answers! }

    fn options(self, beginning: &str) -> Vec<String> {
        self.see(|job| job.options.iter().map(|option| format!("{beginning}{option}")).collect())
    }

    fn environment(self, name: &str) -> Option<String> {
        self.see(|job| job.environment.get(name).cloned())
    }

    fn has_counted(self, _: &GresType, _: IpuCount) -> bool {
        !slurm::Job::has_lost_count(self)
    }

    fn other(self, id: u32) -> Option<Self> {
        self.slurm.0.borrow().contains_key(&id).then_some(Self { id, ..self })
    }

    fn components(self) -> Vec<Self> {
        let leader = self.het_job();
        let all = self.slurm.0.borrow();
        let components = all.iter().filter(|(_, job)| leader != 0 && job.het_job == leader);
        components.map(|(id, _)| Self { id: *id, ..self }).collect()
    }
}

/// A job under the write lock.
pub struct Change<'a>(pub View<'a>);

impl<'a> Deref for Change<'a> {
    type Target = View<'a>;

    fn deref(&self) -> &View<'a> {
        &self.0
    }
}

macro_rules! nothing {
    ($($name:ident($($kind:ty),*);)*) => { $(fn $name(&mut self $(, _: $kind)*) {})* };
}

impl slurm::JobMut for Change<'_> {
    nothing! {
        expect_start_of_components(i64);
        raise_launch_gate();
        take_back_launch_gate();
        raise_completion_gate();
        configure_again();
        expect_end_of_script();
        split_off(u32);
        forget_batch_host();
        begin_soon(Duration);
        end_by_deadline();
        wait_for_its_turn();
        replace_in_system_comment(&str, &str);
        set_script_environment(&str, &str);
        clean_script_environment(&str);
        enter_requested_ipus(&GresType, u64);
        enter_ipus_for_limits(&GresType, u64);
        clear_allocated_ipus();
        end_waiver(&Waiver);
        count_again(&GresType, IpuCount);
        write_partition_line(&PartitionId, i64, Option<PartitionEnd>);
    }

    fn count_restart(&mut self) {
        self.change(|job| job.restart_count = job.restart_count.saturating_add(1));
    }

    fn hold(&mut self) {
        self.change(|job| job.priority = 0);
    }

    fn expect_start(&mut self, time: i64) {
        self.change(|job| job.start_time = time);
    }

    fn set_reason(&mut self, text: &str) {
        self.change(|job| job.reason = Some(text.to_owned()));
    }

    fn clear_reason(&mut self) {
        self.change(|job| job.reason = None);
    }

    fn set_environment(&mut self, name: &str, value: &str) {
        self.change(|job| drop(job.environment.insert(name.to_owned(), value.to_owned())));
    }

    fn remove_environment(&mut self, name: &str) {
        self.change(|job| drop(job.environment.remove(name)));
    }

    fn enter_allocated_ipus(&mut self, _: &GresType, _: IpuCount) -> bool {
        true
    }

    fn is_within_limits(&mut self, _: &GresType, ipus: u64) -> bool {
        self.see(|job| job.most_ipus.is_none_or(|most| ipus <= most))
    }

    fn waive_ipu_limits(&mut self) -> Waiver {
        Waiver::default()
    }
}

macro_rules! answers_of_message {
    ($($type:ty: $($fact:ident)*;)*) => { $($(
        fn $fact(&self) -> $type {
            self.see(|job| job.$fact.clone())
        }
    )*)* };
}

impl slurm::JobDescription for View<'_> {
    answers_of_message! {
        Option<String>: tres_per_node slurm_partitions default_slurm_partition qos licenses site_licenses;
    }

    fn component(&self) -> Option<u32> {
        self.see(|job| job.component)
    }

    fn names_reservation(&self) -> bool {
        self.see(|job| job.names_reservation)
    }

    fn is_batch(&self) -> bool {
        self.see(|job| job.is_batch)
    }

    fn mentions_vipu(&self) -> bool {
        self.see(|job| job.mentions_vipu)
    }

    fn other_tres(&self) -> [(&'static str, Option<String>); 3] {
        let [of_job, of_task, of_socket] = self.see(|job| job.other_tres.clone());
        [("per job", of_job), ("per task", of_task), ("per socket", of_socket)]
    }

    fn asked_nodes(&self) -> RangeInclusive<u32> {
        self.see(|job| job.asked_nodes.clone()).unwrap_or(1..=u32::MAX)
    }

    fn options(&self, beginning: &str) -> Vec<String> {
        slurm::Job::options(*self, beginning)
    }

    fn clean_script_environment(&mut self, _: &str) {}

    fn add_gres(&mut self, element: &str) {
        let list = slurm::Job::tres_per_node(*self).filter(|list| !list.is_empty());
        let list = list.map(|list| format!("{list},")).unwrap_or_default();
        self.set_tres_per_node(&format!("{list}gres:{element}"));
    }

    fn set_tres_per_node(&mut self, tres: &str) {
        self.change(|job| *job = std::mem::take(job).with_tres(tres));
    }

    fn set_licenses(&mut self, licenses: &str) {
        self.change(|job| job.licenses = Some(licenses.to_owned()));
    }

    fn set_nodes(&mut self, count: u32) -> Result<(), Words> {
        self.change(|job| job.asked_nodes = Some(count..=count));
        Ok(())
    }

    fn take_whole_nodes(&mut self) {
        self.change(|job| job.takes_whole_nodes = true);
    }

    fn all_slurm_partitions(&self) -> Option<impl slurm::SlurmPartitions> {
        self.see(|job| job.offers.clone()).map(Offers)
    }
}

struct Offers(BTreeMap<String, Vec<GresType>>);

impl slurm::SlurmPartitions for Offers {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn have(&self, slurm_partition: &str, of: Option<&GresType>) -> Option<bool> {
        let offers = self.0.get(slurm_partition)?;
        Some(of.map_or(!offers.is_empty(), |of| offers.contains(of)))
    }
}
