//! slurm-host itself, on the records and functions of the release.

use std::ffi::{c_char, c_void};
use std::time::Duration;

use slurm_host::job::{JobMut, JobRef};
use slurm_host::{conf, locks, node_gres, running_release, selfcheck};
use vipu_types::RunEnd;

use crate::cluster::{Cluster, Job, PLAIN, RUNNING, WAITING, bitmap};
use crate::host::{Host, errors, notes, on_host_thread, text_at};

pub fn run(host: Host, cluster: &Cluster) {
    assert_eq!(running_release::loaded().unwrap().release.version.0, host.release.version);
    slurm_host::check().unwrap();
    let select_type = conf::select_type().unwrap_or_else(|| panic!("{:?}", notes()));
    assert!(select_type.starts_with("select/vipu"));
    assert!(conf::state_save_location().unwrap().ends_with("state"));
    assert!(conf::folder().unwrap().ends_with("conf"));
    reads_conf(host);
    host.under_locks(|| {
        reads(host, cluster.running);
        writes(host, cluster.running);
        raises_gates(host, cluster.running);
        fails_and_is_late(host, cluster.running);
        lists_jobs_and_nodes();
    });
    opens_gates(host, cluster.running);
    sends_back(host, cluster);
    is_switched_off_by_one_wrong_record(host, cluster);
}

fn change(job: &Job) -> JobMut<'_> {
    // SAFETY: the record is a job's, and slurmctld's locks are held.
    unsafe { JobMut::from_callback(job.record.address()) }.unwrap_or_else(|| panic!("{:?}", notes()))
}

fn reads_conf(host: Host) {
    assert_eq!(conf::cluster_name().as_deref(), Some("fake"));
    assert_eq!(conf::slurm_user(), Some(64030));
    assert!(conf::slurmctld_pid_file().unwrap().ends_with("state/slurmctld.pid"));
    // PRIVATE_DATA_JOBS is bit 0, PRIVATE_DATA_RESERVATIONS bit 6. Other bits are of other words.
    let cases = [
        (1_u16, [true, false]),
        (1 << 6, [false, true]),
        (0xffbe, [false; 2]),
        (0xffff, [true; 2]),
        (0, [false; 2]),
    ];
    for (bits, hidden) in cases {
        host.slurm_conf().put("private_data", bits);
        assert_eq!([conf::hides_jobs(), conf::hides_reservations()], hidden, "{bits:#x}");
    }
}

fn reads(host: Host, job: Job) {
    // SAFETY: the record is a job's, and slurmctld's locks are held.
    let seen = unsafe { JobRef::from_callback(job.record.address()) };
    let seen = seen.unwrap_or_else(|| panic!("{:?}", notes()));
    assert_eq!((seen.id(), seen.user(), seen.restart_count(), seen.het_job()), (RUNNING, 1000, 2, 7));
    assert_eq!((seen.start_time(), seen.end_time()), (1_700_000_000, 1_700_003_600));
    assert_eq!((seen.het_offset(), seen.name().as_deref()), (3, Some("\u{4}\u{fffd}")));
    let no_val = host.release.constant("NO_VAL");
    for (array, task, seen_as) in
        [(40, 0, Some((40, 0))), (40, 9, Some((40, 9))), (40, no_val, None), (0, 9, None), (0, no_val, None)]
    {
        job.record.put("array_job_id", array);
        job.record.put("array_task_id", task);
        assert_eq!(seen.array(), seen_as);
    }
    assert!(seen.tres_per_node().unwrap().ends_with("vipu:pod64:16") && seen.mentions_vipu());
    assert!(seen.is_batch() && seen.is_running() && !seen.is_configuring() && !seen.is_completing());
    assert!(!seen.waits_in_line() && !seen.nodes_done());
    job.record.put("node_bitmap_cg", bitmap(-1));
    assert!(seen.nodes_done());
    let [waiting, plain] = [WAITING, PLAIN].map(|id| seen.other(id).unwrap());
    assert!(waiting.is_pending() && waiting.waits_in_line() && !waiting.is_batch());
    assert!(!plain.mentions_vipu());
    assert!(waiting.is_awaited() && !plain.is_awaited());
}

fn writes(host: Host, job: Job) {
    let mut seen = change(&job);
    seen.set_reason("first");
    seen.set_reason("second");
    job.record.put("system_comment", host.text("of others\nvipu: one; more; pre_run: two"));
    seen.replace_in_system_comment("vipu: ", "vipu: first; then");
    seen.replace_in_system_comment("vipu: ", "vipu: second; then");
    for (name, value) in [("A", "1"), ("B", "2"), ("A", "3"), ("BB", "4")] {
        seen.set_environment(name, value);
    }
    assert_eq!((seen.environment("A").as_deref(), seen.environment("B").as_deref()), (Some("3"), Some("2")));
    ["A", "BB", "C"].iter().for_each(|name| seen.remove_environment(name));
    for (name, value) in [("A", "1"), ("B", "2"), ("C", "3"), ("B", "4")] {
        seen.set_script_environment(name, value);
    }
    assert_eq!(seen.script_environment("A").as_deref(), Some("1"));
    forgets_forged_entries(host, job, &mut seen);
    assert_eq!(seen.script_environment("B").as_deref(), Some("4"));
    seen.expect_start(1_800_000_000);
    job.details.put("begin_time", 0_i64);
    seen.begin_soon(Duration::from_secs(2));
    assert!(!job.record.get::<*const c_void>("job_resrcs").is_null());
    seen.give_up_resources();
    assert!(job.record.get::<*const c_void>("job_resrcs").is_null());
    assert_eq!(job.record.text("state_desc").as_deref(), Some("second"));
    assert_eq!(
        job.record.text("system_comment").as_deref(),
        Some("of others; more; pre_run: two; vipu: second, then")
    );
    assert_eq!(job.record.get::<i64>("start_time"), 1_800_000_000);
    assert!(job.details.get::<i64>("begin_time") > 1_700_000_000);
    job.details.put("begin_time", i64::from(u32::MAX));
    seen.begin_soon(Duration::from_secs(2));
    assert_eq!(seen.begin_time(), i64::from(u32::MAX), "a pause is not cut short");
    assert_eq!(job.details.get::<u16>("env_cnt"), 1);
    let environment: *const *const c_char = job.details.get("env_sup");
    // SAFETY: env_sup holds env_cnt texts.
    assert_eq!(text_at(unsafe { environment.read() }).as_deref(), Some("B=2"));
    assert_eq!(job.record.get::<u32>("spank_job_env_size"), 2);
    let scripts: *const *const c_char = job.record.get("spank_job_env");
    // SAFETY: the list has two texts and a NULL.
    let scripts = [0, 1, 2].map(|i| text_at(unsafe { scripts.add(i).read() }));
    assert_eq!(scripts, [Some("SPANK_C=3".into()), Some("SPANK_B=4".into()), None]);
    assert!(host.get::<i64>("last_job_update") > 0, "clients must see the change");
}

/// Checks that forged entries are removed, with `SPANK_` and without. Slurm accepts any list of a client, and a name
/// can occur twice in it.
fn forgets_forged_entries(host: Host, job: Job, seen: &mut JobMut<'_>) {
    let all = ["SPANK_VIPU_A=1", "SPANK_C=3", "VIPU_A=2", "VIPU_B=1", "SPANK_B=0", "B=4"];
    let sent: *mut *mut c_char = host.zeros(all.len() + 1);
    // SAFETY: the array has room for all, and a NULL behind them.
    all.iter().enumerate().for_each(|(i, entry)| unsafe { sent.add(i).write(host.text(entry)) });
    job.record.put("spank_job_env", sent);
    job.record.put("spank_job_env_size", 6_u32);
    assert_eq!(seen.script_environment("B").as_deref(), Some("0"));
    seen.clean_script_environment("VIPU_");
    assert_eq!(seen.script_environment("B").as_deref(), Some("4"));
    assert_eq!(job.record.get::<u32>("spank_job_env_size"), 2);
    seen.set_script_environment("B", "4");
}

fn raises_gates(host: Host, job: Job) {
    let mut seen = change(&job);
    let [running, pending, configuring] =
        ["JOB_RUNNING", "JOB_PENDING", "JOB_CONFIGURING"].map(|state| host.release.constant(state));
    // With a waiting burst buffer, and without.
    for (others, before) in [(1_u8, pending | configuring), (0, pending)] {
        job.record.put("job_state", before);
        job.details.put("prolog_running", others);
        seen.raise_launch_gate();
        assert_eq!(job.record.get::<u32>("job_state"), pending | configuring);
        seen.take_back_launch_gate();
        assert_eq!(
            (job.record.get::<u32>("job_state"), job.details.get::<u8>("prolog_running")),
            (before, others)
        );
    }
    job.record.put("job_state", running);
    seen.raise_launch_gate();
    seen.raise_completion_gate();
    assert_eq!(job.record.get::<u32>("job_state"), running | configuring);
    assert_eq!(job.details.get::<u8>("prolog_running"), 1);
    assert_eq!((job.record.get::<u32>("prep_epilog_cnt"), job.record.get::<u8>("epilog_running")), (1, 1));
}

fn fails_and_is_late(host: Host, job: Job) {
    let (state, ends) = (job.record.get::<u32>("job_state"), job.record.get::<i64>("end_time"));
    let mut seen = change(&job);
    job.record.put("deadline", i64::from(host.release.constant("NO_VAL")));
    assert_eq!(seen.deadline(), None);
    job.record.put("deadline", ends - 60);
    seen.end_by_deadline();
    assert_eq!(seen.end_time(), ends, "it is CONFIGURING");
    job.record.put("job_state", host.release.constant("JOB_RUNNING"));
    seen.end_by_deadline();
    assert_eq!((seen.end_time(), seen.run_end()), (ends - 60, None));
    job.record.put("exit_code", 42_u32 << 8);
    for (word, end) in [
        ("JOB_FAILED", RunEnd::Failed(42)),
        ("JOB_TIMEOUT", RunEnd::Otherwise("TIMEOUT")),
        ("JOB_OOM", RunEnd::Otherwise("OUT_OF_MEMORY")),
        ("JOB_COMPLETE", RunEnd::Completed),
        ("JOB_CANCELLED", RunEnd::Cancelled),
        ("JOB_PREEMPTED", RunEnd::Cancelled),
    ] {
        let flags = host.release.constant("JOB_COMPLETING");
        job.record.put("job_state", host.release.constant(word) | flags);
        assert_eq!(seen.run_end(), Some(end), "{word}");
    }
    for may in [false, true] {
        job.details.put("requeue", u16::from(may));
        assert_eq!(seen.may_be_requeued(), may);
    }
    job.record.put("job_state", state);
    job.record.put("end_time", ends);
    job.record.put("deadline", 0_i64);
}

fn lists_jobs_and_nodes() {
    let mut ids = Vec::new();
    // SAFETY: under slurmctld's locks.
    assert!(unsafe { locks::for_each_job(&mut |job| ids.push(job.id())) });
    assert_eq!(ids, [RUNNING, WAITING, PLAIN]);
    // Without a free file descriptor, nodes without IPUs would look like this cluster.
    // SAFETY: under slurmctld's locks.
    let nodes = without_file_descriptors(|| unsafe { node_gres::gres_of_all() }).unwrap();
    let nodes: Vec<_> = nodes.iter().map(|node| (node.node.as_str(), node.gres.as_str())).collect();
    assert_eq!(nodes, [("ipu-1", "vipu:pod16:no_consume:16"), ("ipu-2", "vipu:pod64:no_consume:64")]);
}

fn without_file_descriptors<T>(call: impl FnOnce() -> T) -> T {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write the struct alone.
    let set = |limit: &libc::rlimit| assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) }, 0);
    // SAFETY: as above.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) }, 0);
    set(&libc::rlimit { rlim_cur: 0, ..limit });
    let result = call();
    set(&limit);
    result
}

/// Switches slurm-host off in this process, so it runs last. The plugins have a slurm-host of their own.
fn is_switched_off_by_one_wrong_record(host: Host, cluster: &Cluster) {
    host.set("job_list", std::ptr::null_mut::<c_void>());
    // SAFETY: under slurmctld's locks.
    let list = || host.under_locks(|| unsafe { locks::for_each_job(&mut |_| {}) });
    // SAFETY: job records under slurmctld's locks.
    let is_read =
        |job: Job| host.under_locks(|| unsafe { JobRef::from_callback(job.record.address()) }.is_some());
    assert!(!list(), "there is no list");
    cluster.list(host, &[cluster.running, cluster.waiting, cluster.plain]);
    assert!(list() && is_read(cluster.running) && !selfcheck::is_pass_through());
    let right: u32 = cluster.plain.record.get("magic");
    cluster.plain.record.put("magic", 1_u32);
    assert!(!is_read(cluster.plain) && !is_read(cluster.running) && selfcheck::is_pass_through());
    assert!(!list(), "a job that was not seen need not be gone");
    cluster.plain.record.put("magic", right);
    let told = notes();
    assert!(told.iter().any(|line| line.contains("a job record begins with 0x1")), "{told:?}");
}

/// Sends back a run that was never launched, of a job that may not be requeued: a single job, and a component
/// of a heterogeneous job.
fn sends_back(host: Host, cluster: &Cluster) {
    let jobs = [cluster.running, cluster.waiting, cluster.plain];
    let requeue = |job: Job| job.details.get::<u16>("requeue");
    for (leader, marked) in [(0_u32, vec![RUNNING]), (RUNNING, vec![RUNNING, WAITING])] {
        for (job, is_part) in jobs.into_iter().zip([true, true, false]) {
            job.record.put("het_job_id", if is_part { leader } else { 0 });
            job.details.put("requeue", 0_u16);
        }
        let places = jobs.map(|job| job.details.address_of::<u16>("requeue"));
        host.set("fake_requeue", places);
        let is_back = on_host_thread(move |slurm| {
            host.set("fake_agrees", true);
            let is_back = slurm.write().send_back(RUNNING, false);
            host.set("fake_agrees", false);
            is_back
        });
        assert!(is_back);
        let seen = [RUNNING, WAITING, PLAIN].map(|id| u16::from(marked.contains(&id)).to_string()).join(" ");
        let told = notes();
        assert!(told.contains(&format!("may be requeued: {seen}")), "{seen}: {told:?}");
        assert_eq!(jobs.map(requeue), [0, 0, 0]);
    }
    host.set("fake_requeue", [std::ptr::null_mut::<u16>(); 3]);
    for job in jobs {
        job.record.put("het_job_id", 7_u32);
        job.details.put("requeue", 1_u16);
    }
}

/// Does all work of the host thread, the only thread that may take locks.
fn opens_gates(host: Host, job: Job) {
    assert_eq!(errors(), [""; 0]);
    on_host_thread(move |slurm| {
        let mut locked = slurm.write();
        assert!(locked.job(RUNNING).is_some() && locked.job(4711).is_none());
        locked.open_launch_gate(RUNNING);
        host.set("fake_agrees", true);
        assert!(locked.requeue(RUNNING, true));
        host.set("fake_agrees", false);
        assert!(!locked.requeue(RUNNING, true));
        locked.end_failed(RUNNING);
        locked.end_on_nodes(RUNNING, &["ipu-2".into(), "ipu-3".into()]);
        host.set("fake_next_id", 4_u32);
        for (given, next) in [(3, 4_u32), (6, 7), (1_000_000, 7)] {
            locked.pass_over_ids(&[given, 2]);
            assert_eq!(host.get::<u32>("fake_next_id"), next);
        }
        locked.task(RUNNING, 7).expect("the record of the array").split_off(7);
        locked.tell_user(RUNNING, "hello");
        drop(locked);
        let nodes_done = slurm.look_at(&[RUNNING], |job| !job.is_completing() || job.nodes_done());
        assert_eq!(nodes_done, [Some(true)]);
        slurm.open_completion_gate(RUNNING);
        slurm.kick_scheduler();
    });

    let at = job.record.address();
    // SAFETY: the table has two nodes.
    let second_node = unsafe { host.get::<*const *mut c_void>("node_record_table_ptr").add(1).read() };
    let sixth = if host.release.size("slurmctld_lock") == 24 { " 0" } else { "" };
    let [write, read_conf] = ["1 2 2 1 1", "1 0 0 0 0"].map(|five| format!("{five}{sixth}"));
    let requeue = match host.release.series <= 2505 {
        true => format!("job_requeue 0 {RUNNING} (nil) 0 0x800"),
        false => format!("job_requeue_internal 0 {at:p} 0 0x800"),
    };
    let expected = [
        format!("lock {write}"),
        format!("prolog_running_decr {at:p}"),
        "schedule_job_save".to_owned(),
        requeue.clone(),
        requeue,
        format!("job_complete {RUNNING} 0 0 0 0x100"),
        format!("kill_job_on_node {at:p} {second_node:p}"),
        format!("find_job_array_rec {RUNNING} 7"),
        format!("job_array_post_sched {at:p} 1"),
        format!("srun_user_message {at:p} hello"),
        format!("unlock {write}"),
        format!("prep_epilog_slurmctld_callback 0 {RUNNING} 0"),
        format!("lock {read_conf}"),
        format!("unlock {read_conf}"),
        "queue_job_scheduler".to_owned(),
    ];
    assert_eq!(notes(), expected);
}
