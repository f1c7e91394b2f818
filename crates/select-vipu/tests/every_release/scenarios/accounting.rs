//! Slurm's accounting: the number of IPUs in the records and arrays of each release.

use std::ffi::{c_char, c_void};
use std::time::Duration;

use testbed::wait_until;

use crate::cluster::{Job, gres, list};
use crate::host::{Host, notes};
use crate::object::Plugin;
use crate::record::Record;

const NO_CONSUME: u64 = u64::MAX - 2;
const TRES: [&str; 7] = ["cpu", "mem", "energy", "node", "billing", "gres/vipu", "gres/vipu:pod64"];

pub fn run(host: Host, select: Plugin, job: Job) {
    let names: Vec<*mut c_char> = TRES.iter().map(|name| host.text(name)).collect();
    host.set("assoc_mgr_tres_name_array", names.leak().as_mut_ptr());
    host.set("g_tres_count", 7_u32);
    clears_what_an_earlier_slurmctld_left(host, select, job);
    enters_what_a_job_asks_for(host, select, job);
    leaves_an_array_alone_that_is_too_short(host, select, job);
    host.set("g_tres_count", 0_u32);
}

/// The records of a job on two nodes: those of `gpu`, and of IPUs of two models.
struct Records([Record; 3]);

impl Records {
    fn new(host: Host, member: &str, job: Job) -> Self {
        let record = |plugin: u32, model: &str, mark: u64| {
            let (state, data) =
                (Record::new(host.release, "gres_state"), Record::new(host.release, "gres_job_state"));
            state.put("plugin_id", plugin);
            state.put("gres_data", data.address());
            data.put("type_name", host.text(model));
            data.put("total_gres", 16_u64);
            data.put("node_cnt", 2_u32);
            data.put("gres_cnt_node_alloc", [0, mark].to_vec().leak().as_mut_ptr().cast::<c_void>());
            (state, data)
        };
        const GPU: u32 = 7_696_487;
        const VIPU: u32 = 0x7570_6976;
        let all =
            [record(GPU, "a100", 4), record(VIPU, "pod16", NO_CONSUME), record(VIPU, "pod64", NO_CONSUME)];
        job.record.put(member, list(&all.map(|(state, _)| state.address())).cast::<c_void>());
        Self(all.map(|(_, data)| data))
    }

    fn totals(&self) -> [u64; 3] {
        self.0.each_ref().map(|record| record.get("total_gres"))
    }
}

/// At a restart, the number of IPUs may be in the saved allocation. The stock selector must not see it.
fn clears_what_an_earlier_slurmctld_left(host: Host, select: Plugin, job: Job) {
    let allocated = Records::new(host, "gres_list_alloc", job);
    notes();
    assert_eq!(host.call(select, "select_p_select_nodeinfo_set", Some(job.record)), 0);
    assert_eq!(allocated.totals(), [16, NO_CONSUME, NO_CONSUME], "only IPUs are marked as not counted");
    let heard = format!("cons_tres: select_nodeinfo_set {:#x}", job.record.address().addr());
    assert!(notes().contains(&heard), "it is handed on");
    // A list that Slurm has emptied is no allocation.
    allocated.0.iter().for_each(|record| record.put("node_cnt", 0_u32));
    let emptied = job.record.get::<*mut c_void>("gres_list_alloc");
    assert_eq!(host.call(select, "select_p_select_nodeinfo_set", Some(job.record)), 0);
    assert!(notes().contains(&format!("list_destroy {emptied:p}")));
    assert!(job.record.get::<*mut c_void>("gres_list_alloc").is_null());
}

/// At each test, the number of IPUs is in the request, whatever Slurm has calculated for the nodes.
fn enters_what_a_job_asks_for(host: Host, select: Plugin, job: Job) {
    job.record.put("tres_per_node", gres(host, "vipu:pod64:8"));
    waits_for_the_controller(host, select, job);
    let requested = Records::new(host, "gres_list_req", job);
    let counts = host.zeros::<u64>(TRES.len());
    job.record.put("tres_req_cnt", counts.cast::<c_void>());
    let start = host.release.constant("SELECT_MODE_RUN_NOW");
    let test = || {
        notes();
        host.job_test(select.wanted("select_p_job_test"), job.record, start);
        notes()
    };
    let heard = test();
    assert_eq!(requested.totals(), [16, 0, 8], "those of another model count nothing");
    // SAFETY: seven counts, which nobody writes now.
    assert_eq!(unsafe { std::slice::from_raw_parts(counts, TRES.len()) }, [0, 0, 0, 0, 0, 8, 8]);
    let text = format!("set_job_tres_req_str {:#x}", job.record.address().addr());
    assert!(heard.contains(&text), "{heard:?}");
    for (tres, count) in TRES.iter().zip([0, 0, 0, 0, 0, 8, 8]) {
        assert!(heard.contains(&format!("limits: {tres}={count}")), "{heard:?}");
    }
    let again = test();
    assert!(!again.contains(&text), "the text is written if a count changes: {again:?}");
    host.reason(job.record, AWAY);

    host.set("fake_is_within_limits", false);
    job.record.put("state_desc", std::ptr::null_mut::<c_char>());
    let heard = test();
    assert!(heard.iter().any(|note| note.starts_with("limits: ")), "{heard:?}");
    host.set("fake_is_within_limits", true);
}

/// The reason of a job whose IpuofDir or controller is away.
const AWAY: &str = "vipu: pod64 is in trouble";

/// Tests the job until nothing else keeps it: the plugin has read the journal by then.
fn waits_for_the_controller(host: Host, select: Plugin, job: Job) {
    let start = host.release.constant("SELECT_MODE_RUN_NOW");
    let waits = || {
        host.job_test(select.wanted("select_p_job_test"), job.record, start);
        let reason = host.under_locks(|| job.record.text("state_desc"));
        Ok(reason.is_some_and(|reason| reason == AWAY))
    };
    wait_until("the job to wait for the controller", Duration::from_secs(30), waits).unwrap();
}

/// Slurm makes the arrays of jobs longer some time after a TRES was added.
fn leaves_an_array_alone_that_is_too_short(host: Host, select: Plugin, job: Job) {
    let counts = host.zeros::<u64>(6);
    job.record.put("tres_req_cnt", counts.cast::<c_void>());
    let start = host.release.constant("SELECT_MODE_RUN_NOW");
    host.job_test(select.wanted("select_p_job_test"), job.record, start);
    // SAFETY: six counts, which nobody writes now.
    assert_eq!(unsafe { std::slice::from_raw_parts(counts, 6) }, [0, 0, 0, 0, 0, 8]);
}
