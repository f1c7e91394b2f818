//! The adoption of an earlier slurmctld's jobs stops half-way. New IPU jobs wait, and no gate stays closed in
//! vain.

use std::ffi::{CString, c_void};
use std::fs;

use crate::cluster::{Cluster, Job, PLAIN, RUNNING, WAITING, gres};
use crate::host::{Host, errors, notes};
use crate::installation::Installation;
use crate::object::Plugin;

/// The failure that stops the adoption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A panic, at the second of two jobs.
    Panic,
    /// No thread can be started.
    Threads,
}

pub fn run(host: Host, installation: &Installation, stop: Stop) {
    let cluster = Cluster::new(host);
    let Cluster { running, waiting: second, plain: new, .. } = cluster;
    let state = |words: &[&str]| words.iter().fold(0, |all, word| all | host.release.constant(word));
    for (job, id) in [(running, RUNNING), (second, WAITING)] {
        give_partition(job, id);
    }
    new.record.put("tres_per_node", gres(host, "vipu:pod64:16"));
    match stop {
        Stop::Panic => {
            second.record.put("job_state", state(&["JOB_RUNNING", "JOB_CONFIGURING"]));
            fs::write(installation.failpoints().join(format!("adopt_{WAITING}")), "as the test wants it")
                .unwrap();
        }
        Stop::Threads => {
            second.record.put("job_state", state(&["JOB_COMPLETE", "JOB_COMPLETING"]));
            // Too large a stack, so that no thread can be started.
            // SAFETY: this is the only thread.
            unsafe { std::env::set_var("RUST_MIN_STACK", (1_u64 << 47).to_string()) };
        }
    }
    let plugin = Plugin::load(&installation.plugins().join("select_vipu.so"), host.release).unwrap();
    let call = |name: &str, job: Job| host.call(plugin, name, Some(job.record));
    host.set("fake_agrees", true);
    notes();
    host.read_conf(plugin);
    let errors = errors();
    let why = match stop {
        Stop::Panic => "not all of Slurm's jobs could be read",
        Stop::Threads => "cannot start thread vipu-host",
    };
    let is_told = |part: &str| errors.iter().any(|line| line.contains(part));
    assert!(is_told("no IPU job starts") && is_told(why), "{errors:?}");

    has_new_jobs_wait(host, plugin, new, stop);
    running.record.put("job_state", state(&["JOB_COMPLETE", "JOB_COMPLETING"]));
    call("select_p_job_fini", running);
    assert_eq!(gates(running), (0, 0), "nobody may be there to let it go");
    assert_eq!(gates(second), (0, 0));
    if stop == Stop::Panic {
        notes();
        assert_eq!(call("select_p_job_ready", second), 0);
        let asked: Vec<_> = notes().into_iter().filter(|note| note.contains("job_ready")).collect();
        assert_eq!(asked, [""; 0], "its partition may not be ready, whatever its nodes are");
    }
}

/// Writes a grant into the job's record, as an earlier slurmctld did.
fn give_partition(job: Job, id: u32) {
    let variable = format!("SLURM_VIPU_JOB_{id}=slurm_{id},pod64,16,1,127.0.0.1:9");
    let environment = vec![CString::new(variable).unwrap().into_raw()].leak();
    job.details.put("env_sup", environment.as_mut_ptr().cast::<c_void>());
    job.details.put("env_cnt", 1_u16);
}

/// Returns the counters of the completion gate and the launch gate.
fn gates(job: Job) -> (u32, u8) {
    (job.record.get("prep_epilog_cnt"), job.details.get("prolog_running"))
}

fn has_new_jobs_wait(host: Host, select: Plugin, job: Job, stop: Stop) {
    let start = host.release.constant("SELECT_MODE_RUN_NOW");
    let code = host.job_test(select.wanted("select_p_job_test"), job.record, start);
    assert!(code != 0, "job {PLAIN} starts");
    if stop == Stop::Panic {
        host.reason(job.record, "vipu: pod64 is in trouble");
    }
}
