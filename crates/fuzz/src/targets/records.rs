//! Slurm's records, made from any bytes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Deref, RangeInclusive};
use std::str::FromStr;
use std::time::Duration;

use frontend::slurm;
use vipu_types::{Grant, GresType, IpuCount, PartitionEnd, PartitionId, RunEnd, Words};

/// The text of a job, its message and the arguments of its test, with a line `name=answer` for each method.
pub(super) struct Record {
    pub(super) id: u32,
    answers: HashMap<String, String>,
}

impl Record {
    pub(super) fn read(id: u32, text: &[u8]) -> Self {
        // `slurm-host` reads C strings like this.
        let text = String::from_utf8_lossy(text);
        let lines = text.lines().filter_map(|line| line.split_once('='));
        Self { id, answers: lines.map(|(name, answer)| (name.to_owned(), answer.to_owned())).collect() }
    }

    /// Returns the text or number under this name.
    pub(super) fn some<T: FromStr>(&self, name: &str) -> Option<T> {
        self.answers.get(name)?.parse().ok()
    }

    fn number<T: FromStr + Default>(&self, name: &str) -> T {
        self.some(name).unwrap_or_default()
    }

    fn is(&self, name: &str) -> bool {
        self.answers.contains_key(name)
    }

    fn options(&self, beginning: &str) -> Vec<String> {
        let options = self.answers.get("options").into_iter().flat_map(|all| all.split(';'));
        options.map(|option| format!("{beginning}{option}")).collect()
    }
}

/// A job under a lock, its message, and the arguments of its test.
#[derive(Clone, Copy)]
pub(super) struct View<'a>(pub(super) &'a RefCell<Record>);

/// Defines methods that return the answer under their own name.
macro_rules! answers {
    ($receiver:ty: $($read:ident -> $result:ty: $($name:ident)*;)*) => { $($(
        fn $name(self: $receiver) -> $result {
            self.0.borrow().$read(stringify!($name))
        }
    )*)* };
}

/// Defines methods that do nothing.
macro_rules! nothing {
    ($($name:ident($($kind:ty),*);)*) => { $(fn $name(&mut self $(, _: $kind)*) {})* };
}

impl slurm::Job for View<'_> {
    answers! { Self:
        number -> u16: restart_count priority_tier;
        number -> u32: exit_status user priority het_job het_offset tasks_left;
        number -> i64: start_time end_time begin_time submit_time;
        number -> usize: slurm_partition_address;
        some -> Option<i64>: deadline;
        some -> Option<String>: slurm_partition slurm_partitions qos tres_per_node reason shown_reason name;
        some -> Option<String>: account licenses batch_host;
        is -> bool: is_in_reservation nodes_done is_batch is_awaited is_backfill_test is_tried_by_backfill;
        is -> bool: is_test_of_now is_unsplit_array is_at_array_limit is_being_preempted is_pending is_running is_suspended;
        is -> bool: is_configuring is_completing has_lost_node may_be_requeued;
        is -> bool: waits_in_line takes_whole_nodes gets_all_gres ipus_are_counted has_lost_count;
    }

    fn id(self) -> u32 {
        self.0.borrow().id
    }

    fn nodes(self) -> Vec<u32> {
        vec![self.0.borrow().number("node")]
    }

    fn node_names(self) -> Vec<String> {
        vec!["node".to_owned()]
    }

    fn array(self) -> Option<(u32, u32)> {
        None
    }

    fn time_limit(self) -> i64 {
        i64::from(self.0.borrow().number::<u32>("time_limit")) * 60
    }

    fn mentions_vipu(self) -> bool {
        slurm::Job::tres_per_node(self).is_some_and(|tres| tres.contains("vipu"))
    }

    fn options(self, beginning: &str) -> Vec<String> {
        self.0.borrow().options(beginning)
    }

    fn run_end(self) -> Option<RunEnd> {
        let end: String = self.0.borrow().some("run_end")?;
        Some(match &*end {
            "0" => RunEnd::Completed,
            "TIMEOUT" => RunEnd::Otherwise("TIMEOUT"),
            code => code.parse().map_or(RunEnd::Cancelled, RunEnd::Failed),
        })
    }

    fn has_counted(self, _: &GresType, size: IpuCount) -> bool {
        size.get() < 32
    }

    fn environment(self, name: &str) -> Option<String> {
        self.0.borrow().some("grant").filter(|_| name == Grant::variable(slurm::Job::id(self)))
    }

    fn other(self, id: u32) -> Option<Self> {
        (self.0.borrow().id == id).then_some(self)
    }
}

impl slurm::JobDescription for View<'_> {
    answers! { &Self:
        some -> Option<String>: tres_per_node slurm_partitions default_slurm_partition qos licenses site_licenses;
        is -> bool: names_reservation is_batch;
    }
    nothing! { clean_script_environment(&str); take_whole_nodes(); }

    fn asked_nodes(&self) -> RangeInclusive<u32> {
        1..=self.0.borrow().number("max_nodes")
    }

    fn set_nodes(&mut self, _: u32) -> Result<(), Words> {
        Ok(())
    }

    fn other_tres(&self) -> [(&'static str, Option<String>); 3] {
        ["per job", "per task", "per socket"].map(|per| (per, self.0.borrow().some(per)))
    }

    fn mentions_vipu(&self) -> bool {
        slurm::Job::mentions_vipu(*self)
    }

    fn options(&self, beginning: &str) -> Vec<String> {
        self.0.borrow().options(beginning)
    }

    fn add_gres(&mut self, element: &str) {
        let list = slurm::Job::tres_per_node(*self).unwrap_or_default();
        self.set_tres_per_node(&format!("{list},gres:{element}"));
    }

    fn set_tres_per_node(&mut self, tres: &str) {
        self.0.borrow_mut().answers.insert("tres_per_node".to_owned(), tres.to_owned());
    }

    fn set_licenses(&mut self, licenses: &str) {
        self.0.borrow_mut().answers.insert("licenses".to_owned(), licenses.to_owned());
    }

    fn all_slurm_partitions(&self) -> Option<impl slurm::SlurmPartitions> {
        Some(*self)
    }
}

impl slurm::SlurmPartitions for View<'_> {
    fn names(&self) -> Vec<String> {
        self.0.borrow().answers.keys().cloned().collect()
    }

    fn have(&self, slurm_partition: &str, _: Option<&GresType>) -> Option<bool> {
        (slurm_partition.len() < 9).then_some(slurm_partition != "cpu")
    }
}

impl slurm::Test for View<'_> {
    type Job = Self;

    answers! { &Self:
        is -> bool: may_preempt has_victims;
        number -> u32: fewest;
        some -> Option<i64>: not_before;
    }
    nothing! {
        preempt(&[Self]);
        leave_out(&[u32]);
        put_back(&[u32]);
        keep_no_node();
    }

    fn candidates(&self) -> Vec<Self> {
        vec![*self]
    }

    fn chosen(&self) -> Vec<u32> {
        vec![slurm::Test::fewest(self)]
    }
}

/// A job under the write lock.
pub(super) struct Change<'a>(pub(super) View<'a>);

impl<'a> Deref for Change<'a> {
    type Target = View<'a>;

    fn deref(&self) -> &View<'a> {
        &self.0
    }
}

impl slurm::JobMut for Change<'_> {
    nothing! {
        raise_launch_gate();
        take_back_launch_gate();
        raise_completion_gate();
        configure_again();
        expect_end_of_script();
        count_restart();
        split_off(u32);
        forget_batch_host();
        hold();
        begin_soon(Duration);
        end_by_deadline();
        expect_start(i64);
        set_reason(&str);
        clear_reason();
        wait_for_its_turn();
        add_system_comment(&str);
        replace_in_system_comment(&str, impl Fn(&str) -> bool);
        set_environment(&str, &str);
        remove_environment(&str);
        set_script_environment(&str, &str);
        clean_script_environment(&str);
        enter_requested_ipus(&GresType, u64);
        enter_ipus_for_limits(&GresType, u64);
        clear_allocated_ipus();
        end_waiver(&slurm::Waiver);
        count_again(&GresType, IpuCount);
        write_partition_line(&PartitionId, i64, Option<PartitionEnd>);
    }

    fn enter_allocated_ipus(&mut self, _: &GresType, _: IpuCount) -> bool {
        true
    }

    fn is_within_limits(&mut self, _: &GresType, ipus: u64) -> bool {
        ipus < 32
    }

    fn waive_ipu_limits(&mut self) -> slurm::Waiver {
        slurm::Waiver::default()
    }
}
