//! `select_vipu.so` with `vipu_slurmctld.so`, on a site without a vipu.conf: IPU jobs wait with a reason,
//! other jobs run.

use std::ffi::{c_int, c_void};

use crate::cluster::{Cluster, gres};
use crate::host::{Host, notes};
use crate::object::Plugin;
use crate::record::Record;

/// `select_vipu.so` in slurmctld.
struct Selector {
    host: Host,
    plugin: Plugin,
}

pub fn run(host: Host, plugin: Plugin, cluster: &Cluster) {
    let selector = Selector { host, plugin };
    cluster.list(host, &[cluster.running]);
    selector.reconfigure();
    host.set("fake_agrees", true);
    selector.places_reservations(cluster.reservation.record);
    cluster.list(host, &[cluster.running, cluster.waiting, cluster.plain]);
    selector.starts_jobs_without_ipus(cluster.plain.record);
    selector.refuses_impossible_requests(cluster.waiting.record);
    selector.has_ipu_jobs_wait(cluster.waiting.record);
    selector.forecasts(cluster.waiting.record);
}

impl Selector {
    fn address(&self, name: &str) -> *mut c_void {
        self.plugin.wanted(name)
    }

    fn job_test(&self, job: Record, mode: &str) -> (c_int, usize) {
        let mode = self.host.release.constant(&format!("SELECT_MODE_{mode}"));
        notes();
        let code = self.host.job_test(self.address("select_p_job_test"), job, mode);
        (code, notes().iter().filter(|note| note.starts_with("cons_tres: job_test")).count())
    }

    /// Makes the first reconfigure, which loads `vipu_slurmctld.so`.
    fn reconfigure(&self) {
        let functions = self.host.select_interface();
        let reconfigure = functions.iter().find(|known| known.name() == c"select_p_reconfigure").unwrap();
        self.host.under_locks(|| reconfigure.call(self.address("select_p_reconfigure")));
        let (logged, calls): (Vec<_>, Vec<_>) =
            notes().into_iter().partition(|note| note.starts_with("log "));
        super::forwarding::arrived("cons_tres", &calls);
        let errors: Vec<_> = logged.iter().filter(|line| line.starts_with("log 2: ")).collect();
        let expected = ["pod16", "pod64"].map(|model| format!("model {model}: its jobs wait: "));
        let told = errors.iter().zip(&expected).all(|(line, part)| line.contains(part));
        assert!(errors.len() == expected.len() && told, "{logged:?}");
    }

    /// Tests the record of a reservation, before the first waiting job. The plugin must conclude nothing from
    /// it.
    fn places_reservations(&self, record: Record) {
        assert_eq!(self.job_test(record, "WILL_RUN"), (0, 1));
    }

    fn starts_jobs_without_ipus(&self, job: Record) {
        assert_eq!(self.job_test(job, "RUN_NOW"), (0, 1));
        for name in ["select_p_job_begin", "select_p_job_ready", "select_p_job_fini"] {
            notes();
            assert_eq!(self.host.call(self.plugin, name, Some(job)), 0);
            let heard =
                format!("cons_tres: {} {:#x}", name.trim_start_matches("select_p_"), job.address().addr());
            // Another thread of the plugin may take locks meanwhile.
            let calls: Vec<_> = notes().into_iter().filter(|note| note.starts_with("cons_tres: ")).collect();
            assert_eq!(calls, [heard]);
        }
        assert_eq!(job.text("state_desc"), None);
    }

    fn refuses_impossible_requests(&self, job: Record) {
        job.put("tres_per_node", gres(self.host, "vipu:pod64:3"));
        let never = self.host.release.constant("ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE");
        assert_eq!(self.job_test(job, "TEST_ONLY"), (never.cast_signed(), 0));
        job.put("tres_per_node", gres(self.host, "vipu:pod64:16"));
        assert_eq!(self.job_test(job, "TEST_ONLY"), (0, 1));
    }

    fn has_ipu_jobs_wait(&self, job: Record) {
        self.host.set("last_job_update", 0_i64);
        self.leaves_the_line_to_others(job);
        self.host.reason(job, "vipu: pod64 is in trouble");
        assert!(self.host.get::<i64>("last_job_update") > 0, "clients must see the reason");
        let begun = self.host.call(self.plugin, "select_p_job_begin", Some(job));
        assert_eq!(begun, -1, "the job stays pending");
    }

    /// Checks that the refusal keeps no other job off the nodes; see `differences/refused_start.rs`.
    fn leaves_the_line_to_others(&self, job: Record) {
        let busy = self.host.release.constant("ESLURM_NODES_BUSY").cast_signed();
        if self.host.release.series < 2302 {
            assert_eq!(self.job_test(job, "RUN_NOW"), (busy, 0));
            assert_eq!(self.job_test(job, "TEST_ONLY"), (busy, 0), "not on the nodes in service");
            assert_eq!(self.job_test(job, "TEST_ONLY"), (0, 1), "but on all nodes");
            assert_eq!(self.job_test(job, "RUN_NOW"), (busy, 0));
            assert_eq!(self.job_test(job, "WILL_RUN"), (0, 1));
            assert_eq!(self.job_test(job, "TEST_ONLY"), (0, 1), "it does not follow the refused start");
        } else {
            let licenses = self.host.release.constant("ESLURM_LICENSES_UNAVAILABLE").cast_signed();
            assert_eq!(self.job_test(job, "RUN_NOW"), (licenses, 0));
            assert_eq!(self.job_test(job, "TEST_ONLY"), (0, 1));
        }
        // Slurm tries srun and salloc like this before they are in line. They show the code to the user.
        job.put("state_reason", 0_u32);
        assert_eq!(self.job_test(job, "RUN_NOW"), (busy, 0));
        assert_eq!(self.job_test(job, "TEST_ONLY"), (0, 1));
        job.put("state_reason", 3_u32);
    }

    fn forecasts(&self, job: Record) {
        assert_eq!(self.job_test(job, "WILL_RUN"), (0, 1));
        const MONTHS: i64 = 300 * 24 * 3600;
        assert!(
            job.get::<i64>("start_time") > 1_700_000_000 + MONTHS,
            "nobody knows when there will be IPUs"
        );
    }
}
