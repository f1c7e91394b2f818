//! The records of jobs, nodes and Slurm partitions in slurmctld.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use crate::host::Host;
use crate::record::Record;

/// The running job.
pub const RUNNING: u32 = 41;
/// The job that waits for IPUs.
pub const WAITING: u32 = 42;
/// The job that waits for nodes only.
pub const PLAIN: u32 = 43;
/// The id in the record by which Slurm tests a reservation. It is no job's id, and no list has the record.
const RESERVATION: u32 = 0;

/// Returns `words` as this release's commands write `--gres` into a request.
pub fn gres(host: Host, words: &str) -> *mut c_char {
    let separator = if host.release.series == 2205 { ':' } else { '/' };
    host.text(&format!("gres{separator}{words}"))
}

/// A job's record and its details.
#[derive(Clone, Copy)]
pub struct Job {
    pub record: Record,
    pub details: Record,
}

/// The records of a cluster with three jobs and two nodes.
pub struct Cluster {
    pub running: Job,
    pub waiting: Job,
    pub plain: Job,
    /// The record of a reservation, which is in no list of jobs.
    pub reservation: Job,
    /// The Slurm partition of all jobs.
    pub partition: Record,
}

impl Cluster {
    pub fn new(host: Host) -> Self {
        let partition = slurm_partition(host, "ipu", bitmap(1));
        let without = slurm_partition(host, "cpu", null_mut());
        host.set("part_list", list(&[without, partition].map(Record::address)));
        let qos = Record::new(host.release, "qos_rec");
        qos.put("name", host.text("Low"));
        let job = |id, state, tres| job(host, [partition, qos], id, host.release.constant(state), tres);
        let cluster = Self {
            running: job(RUNNING, "JOB_RUNNING", gres(host, "vipu:pod64:16")),
            waiting: job(WAITING, "JOB_PENDING", gres(host, "vipu:pod64:16")),
            plain: job(PLAIN, "JOB_PENDING", null_mut()),
            reservation: job(RESERVATION, "JOB_PENDING", null_mut()),
            partition,
        };
        cluster.list(host, &[cluster.running, cluster.waiting, cluster.plain]);
        let nodes = [node(host, "ipu-1", true), node(host, "ipu-2", false)].map(Record::address);
        host.set("node_record_table_ptr", array(&nodes));
        host.set("node_record_count", 2);
        cluster
    }

    /// Makes these jobs the whole job list of slurmctld.
    pub fn list(&self, host: Host, jobs: &[Job]) {
        let jobs: Vec<_> = jobs.iter().map(|job| job.record.address()).collect();
        host.set("job_list", list(&jobs));
    }
}

/// Makes a Slurm partition of these nodes.
fn slurm_partition(host: Host, name: &str, nodes: *mut i64) -> Record {
    let partition = Record::new(host.release, "part_record");
    partition.put("magic", host.release.constant("PART_MAGIC"));
    partition.put("name", host.text(name));
    partition.put("node_bitmap", nodes);
    partition
}

/// Makes a list of Slurm that lives as long as the process.
pub fn list(items: &[*mut c_void]) -> *mut *mut c_void {
    array(&[&[std::ptr::without_provenance_mut(0xdead_beef)], items].concat())
}

/// Makes an array that ends with NULL and lives as long as the process.
fn array(items: &[*mut c_void]) -> *mut *mut c_void {
    [items, &[null_mut()]].concat().leak().as_mut_ptr()
}

fn job(host: Host, [partition, qos]: [Record; 2], id: u32, state: u32, tres: *mut c_char) -> Job {
    let record = Record::new(host.release, "job_record");
    let details = Record::new(host.release, "job_details");
    record.put("magic", host.release.constant("JOB_MAGIC"));
    record.put("job_id", id);
    if record.has("step_id") {
        record.put("step_id.sluid", u64::MAX);
        record.put("step_id.job_id", id);
    }
    record.put("user_id", 1000_u32);
    record.put("user_name", host.text("alice"));
    record.put("partition", host.text("batch,ipu"));
    record.put("part_ptr", partition.address());
    record.put("qos_ptr", qos.address());
    record.put("details", details.address());
    record.put("tres_per_node", tres);
    for none in ["tres_per_job", "state_desc", "system_comment", "burst_buffer_state"] {
        record.put(none, null_mut::<c_char>());
    }
    for none in ["gres_list_req", "gres_list_alloc", "tres_req_cnt", "tres_alloc_cnt", "limit_set.tres"] {
        record.put(none, null_mut::<c_void>());
    }
    record.put("account", host.text("lab"));
    record.put("spank_job_env", null_mut::<c_void>());
    record.put("spank_job_env_size", 0_u32);
    record.put("job_state", state);
    record.put("state_reason", host.release.constant("WAIT_RESOURCES"));
    record.put("job_resrcs", resources(host, id == RUNNING));
    record.put("alloc_resp_port", u16::from(id == WAITING));
    record.put("batch_flag", u16::from(id == RUNNING));
    record.put("batch_host", host.text("n1"));
    record.put("step_list", list(&[]));
    record.put("restart_cnt", 2_u16);
    record.put("het_job_id", 7_u32);
    record.put("het_job_offset", 3_u32);
    record.put("array_recs", null_mut::<c_void>());
    record.put("array_job_id", 0_u32);
    record.put("array_task_id", host.release.constant("NO_VAL"));
    record.put("start_time", 1_700_000_000_i64);
    record.put("end_time", 1_700_003_600_i64);
    record.put("prep_epilog_cnt", 0_u32);
    record.put("epilog_running", false);
    record.put("node_bitmap", null_mut::<c_void>());
    record.put("node_bitmap_cg", bitmap(3));
    details.put("magic", host.release.constant("DETAILS_MAGIC"));
    details.put("prolog_running", 0_u8);
    details.put("requeue", 1_u16);
    details.put("submit_time", 1_700_000_000_i64);
    details.put("env_sup", null_mut::<c_void>());
    details.put("env_cnt", 0_u16);
    write_as_users_may(host, record, details);
    Job { record, details }
}

/// Writes the strangest values that slurmctld accepts from a user's own client. The self-check must not judge
/// a release by them.
fn write_as_users_may(host: Host, record: Record, details: Record) {
    details.put("begin_time", i64::MAX);
    record.put("wait_all_nodes", 0xbeef_u16);
    record.put("tres_per_task", host.bytes(b"\xfe\x01"));
    record.put("resv_name", host.bytes(b"\x02"));
    record.put("name", host.bytes(b"\x04\xff"));
    record.put("licenses", host.bytes(b"\x05"));
    // With --reservation, `part_ptr` need not be one of the Slurm partitions in the request.
    record.put("partition", host.bytes(b"batch,\x03"));
}

/// Returns the stock selector's choice for a job that has nodes, otherwise NULL.
fn resources(host: Host, has_nodes: bool) -> *mut c_void {
    if !has_nodes {
        return null_mut();
    }
    let resources = Record::new(host.release, "job_resources");
    resources.put("node_bitmap", bitmap(3));
    resources.address()
}

/// Makes a bitmap whose first set bit is `first`.
pub fn bitmap(first: i64) -> *mut i64 {
    vec![0x4243_4445, first].leak().as_mut_ptr()
}

/// Makes a node with `Gres=` in its own record, or only in the record of its configuration line.
fn node(host: Host, name: &str, has_own: bool) -> Record {
    let config = Record::new(host.release, "config_record");
    config.put("magic", host.release.constant("CONFIG_MAGIC"));
    config.put("gres", host.text("vipu:pod64:no_consume:64"));
    let node = Record::new(host.release, "node_record");
    node.put("magic", host.release.constant("NODE_MAGIC"));
    node.put("name", host.text(name));
    node.put("gres", if has_own { host.text("vipu:pod16:no_consume:16") } else { null_mut() });
    node.put("config_ptr", config.address());
    node
}
