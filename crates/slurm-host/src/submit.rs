//! A job as its submit message describes it, and the answer to its user.

use std::borrow::Cow;
use std::ffi::{c_char, c_void};
use std::ops::RangeInclusive;
use std::ptr::NonNull;

use slurm_release::{self as facts, Field, Layout, Text};
use vipu_types::Words;

use crate::differences::gres_request::with_gres;
use crate::job::{remove_entries, script_variables};
use crate::partitions::SlurmPartitions;
use crate::record::{Record, members, text_of_c};
use crate::selfcheck;
use crate::slurmctld::{Host, host};

/// A bound above the words for `--exclusive` and `--oversubscribe` (`JOB_SHARED_*`).
const MOST_SHARING: u32 = 16;

/// `shared` without such an option: the lower of the marks of 16 bits (`NO_VAL16`).
const NO_SHARING: u32 = 0xfffe;

/// A `job_desc_msg_t` that a job_submit plugin may change.
pub struct JobDescription<'call> {
    record: Record<'call>,
    host: &'static Host,
}

members! { &Self, job_desc_msg, JobDescription<'_>:
    /// `--gres`
    tres_per_node: text tres_per_node -> Option<String>;
    /// `--partition`: one or several Slurm partitions, as in `debug,short`.
    slurm_partitions: text partition -> Option<String>;
    /// `--qos`; several from 24.11 on
    qos: text qos -> Option<String>;
    /// `--licenses`
    licenses: text licenses -> Option<String>;
}

impl JobDescription<'_> {
    /// Returns the message of a running job_submit callback. `None` for NULL, outside slurmctld, and when the
    /// requests are not where the release has them.
    ///
    /// # Safety
    /// `message` is the `job_desc_msg_t *` of that callback, and the value is dropped before the callback
    /// returns.
    pub unsafe fn from_callback(message: *mut c_void) -> Option<Self> {
        let host = host().ok()?;
        // SAFETY: a live job_desc_msg_t that only the calling thread sees (caller).
        let record = unsafe { Record::new(NonNull::new(message)?) };
        let fields = &host.layout.job_desc_msg;
        let texts = [
            fields.tres_per_node,
            fields.tres_per_job,
            fields.tres_per_task,
            fields.tres_per_socket,
            fields.partition,
            fields.qos,
            fields.reservation,
            fields.licenses,
        ];
        let options = (fields.spank_job_env, fields.spank_job_env_size);
        selfcheck::texts_are_readable(record, &texts, options).then_some(Self { record, host })
    }

    fn layout(&self) -> &'static Layout {
        self.host.layout
    }

    /// The requests per job, per task and per socket, each with these words.
    pub fn other_tres(&self) -> [(&'static str, Option<String>); 3] {
        let layout = &self.layout().job_desc_msg;
        [
            ("per job", self.record.text(layout.tres_per_job)),
            ("per task", self.record.text(layout.tres_per_task)),
            ("per socket", self.record.text(layout.tres_per_socket)),
        ]
    }

    /// The default Slurm partition of the site, if there is one.
    pub fn default_slurm_partition(&self) -> Option<String> {
        // SAFETY: a job_submit callback runs under the partition read lock (SAFETY.md, "Locks around
        // callbacks").
        let part = NonNull::new(unsafe { self.host.slurmctld.var.default_part_loc.get() })?;
        // SAFETY: a live part_record_t under that lock; the self-check looks at it before the first read.
        let part = unsafe { Record::new(part) };
        let is_right = selfcheck::default_partition_is_as_expected(part, self.layout());
        is_right.then(|| part.text(self.layout().part_record.name))?
    }

    /// Whether the job names a reservation (`--reservation`). Without a Slurm partition of its own it gets
    /// that of the reservation.
    pub fn names_reservation(&self) -> bool {
        self.record.bytes(self.layout().job_desc_msg.reservation).is_some_and(|name| !name.is_empty())
    }

    /// The number of this component of a heterogeneous job (`het_job_offset`, which slurmctld has set). None for other
    /// jobs.
    pub fn component(&self) -> Option<u32> {
        Some(self.record.read(self.layout().job_desc_msg.het_job_offset))
            .filter(|number| *number < facts::NO_VAL)
    }

    /// Whether there is a script to run, as in a job of sbatch and not of srun or salloc.
    pub fn is_batch(&self) -> bool {
        !self.record.text_pointer(self.layout().job_desc_msg.script).is_null()
    }

    /// Returns all Slurm partitions, or `None` if a record does not look as the release says.
    pub fn all_slurm_partitions(&self) -> Option<SlurmPartitions<'_>> {
        // SAFETY: a job_submit or job_modify callback runs under the partition and node locks (SAFETY.md,
        // "Locks around callbacks").
        unsafe { SlurmPartitions::new(self.host) }
    }

    /// Whether any request of the job names `vipu` at all. The check is cheap, for jobs that use no IPUs.
    pub fn mentions_vipu(&self) -> bool {
        let fields = &self.layout().job_desc_msg;
        let tres = [fields.tres_per_node, fields.tres_per_job, fields.tres_per_task, fields.tres_per_socket];
        tres.into_iter().any(|field| self.record.mentions(field, b"vipu"))
    }

    /// The options of SPANK plugins that begin with `beginning`, each as `name=value`, as Slurm keeps them
    /// with the job.
    pub fn options(&self, beginning: &str) -> Vec<String> {
        let layout = &self.layout().job_desc_msg;
        self.record.texts(layout.spank_job_env, layout.spank_job_env_size, beginning)
    }

    /// Removes all variables for Prolog and Epilog whose names begin with `forged`, and entries of which Slurm
    /// makes none.
    pub fn clean_script_environment(&mut self, forged: &str) {
        let fields = &self.layout().job_desc_msg;
        let first: *mut *mut c_void = self.record.texts_pointer(fields.spank_job_env).cast_mut().cast();
        let count = self.record.read(fields.spank_job_env_size) as usize;
        if first.is_null() || count == 0 {
            return;
        }
        let slots: Vec<_> = (0..count).map(|place| first.wrapping_add(place)).collect();
        // SAFETY: `count` strings of the message, which Slurm has unpacked and no other code sees during the
        // callback.
        let kept = unsafe {
            remove_entries(self.host, &slots, |entries| script_variables::unwanted(entries, forged))
        };
        if let Ok(kept) = u32::try_from(kept) {
            self.record.write(fields.spank_job_env_size, kept);
        }
    }

    /// Adds an element to `--gres`.
    pub fn add_gres(&mut self, element: &str) {
        let earlier = self.tres_per_node();
        self.set_tres_per_node(&with_gres(earlier.as_deref(), element));
    }

    /// Replaces `--gres`.
    pub fn set_tres_per_node(&mut self, tres: &str) {
        self.set(self.layout().job_desc_msg.tres_per_node, tres);
    }

    /// Replaces `--licenses`.
    pub fn set_licenses(&mut self, licenses: &str) {
        self.set(self.layout().job_desc_msg.licenses, licenses);
    }

    /// The numbers of nodes that the job asks for (`--nodes`).
    pub fn asked_nodes(&self) -> RangeInclusive<u32> {
        let fields = &self.layout().job_desc_msg;
        let given = |number: u32| (1..facts::NO_VAL).contains(&number).then_some(number);
        let (fewest, most) = (self.record.read(fields.min_nodes), self.record.read(fields.max_nodes));
        given(fewest).unwrap_or(1)..=given(most).unwrap_or(u32::MAX)
    }

    /// Asks for exactly this number of nodes.
    ///
    /// # Errors
    /// If the numbers of the message are none that a client sends: then they are elsewhere.
    pub fn set_nodes(&mut self, count: u32) -> Result<(), Words> {
        const MOST: u32 = 1 << 20;
        let fields = &self.layout().job_desc_msg;
        let is_right = |number: u32| !(MOST..facts::NO_VAL).contains(&number);
        let sharing = u32::from(self.record.read(fields.shared));
        if !is_right(self.record.read(fields.min_nodes))
            || !is_right(self.record.read(fields.max_nodes))
            || (MOST_SHARING..NO_SHARING).contains(&sharing)
        {
            return Err("vipu: the number of nodes of this message cannot be read".into());
        }
        self.record.write(fields.min_nodes, count);
        self.record.write(fields.max_nodes, count);
        Ok(())
    }

    /// Asks for nodes that no other job shares (`--exclusive`).
    pub fn take_whole_nodes(&mut self) {
        self.record.write(self.layout().job_desc_msg.shared, 0);
    }

    fn set(&mut self, field: Field<Text>, value: &str) {
        let member = self.record.member(field).cast();
        // SAFETY: a char * member of the message, which no other code sees during the callback.
        unsafe { self.host.replace_text(member, value) };
    }
}

/// Appends a line to the answer to the user (`err_msg` of job_submit).
///
/// # Safety
/// `err_msg` is the argument of a running job_submit callback.
pub unsafe fn tell(err_msg: *mut *mut c_char, line: &str) {
    let Ok(host) = host() else { return };
    if err_msg.is_null() {
        return;
    }
    // SAFETY: NULL or a C string of an earlier plugin (caller).
    let all = match unsafe { text_of_c(*err_msg) } {
        Some(earlier) => Cow::Owned(format!("{earlier}\n{line}")),
        None => Cow::Borrowed(line),
    };
    // SAFETY: the callback's own variable (caller).
    unsafe { host.replace_text(err_msg.cast(), &all) };
}
