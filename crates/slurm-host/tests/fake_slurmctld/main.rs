//! slurm-host against a fake slurmctld: functions of the names Slurm has, records laid out as in 22.05.8.
//!
//! One test in one process, as everything here, as in slurmctld, is found and judged once per process.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod slurm;

use std::sync::mpsc;

use slurm::{Call, FakeJob, TEST_JOB};
use slurm_host::job::{JobMut, JobRef};
use slurm_host::locks::HostThread;
use slurm_host::{locks, request_without_layout, running_release, selfcheck};

#[test]
fn a_daemon_of_a_known_release_is_read_and_changed() {
    slurm::install_stock_selector();
    assert_eq!(running_release::loaded().unwrap().release.version.to_string(), "22.05.8");
    slurm_host::check().unwrap();

    let job = FakeJob::new(TEST_JOB, "gres:vipu:pod64:16");
    reads_what_the_record_says(&job);
    writes_texts_and_environment(&job);
    gives_resources_up(&job);
    raises_both_gates(&job);
    lists_every_job(&job);
    opens_gates_under_the_right_locks();
    a_wrong_layout_ends_all_reading(&job);
}

fn reads_what_the_record_says(job: &FakeJob) {
    // SAFETY: a record of the fake slurmctld; no other thread is there.
    let seen = unsafe { JobRef::from_callback(job.raw()) }.unwrap();
    assert_eq!((seen.id(), seen.user(), seen.restart_count()), (TEST_JOB, 1000, 2));
    assert_eq!(seen.tres_per_node().as_deref(), Some("gres:vipu:pod64:16"));
    assert!(seen.mentions_vipu() && seen.is_running() && !seen.is_configuring() && seen.nodes_done());
    assert!(!seen.is_awaited());
    job.listen();
    assert!(seen.is_awaited());
}

fn change(job: &FakeJob) -> JobMut<'_> {
    // SAFETY: a record of the fake slurmctld; no other thread is there.
    unsafe { JobMut::from_callback(job.raw()) }.unwrap()
}

fn writes_texts_and_environment(job: &FakeJob) {
    let mut seen = change(job);
    seen.set_reason("vipu: first");
    seen.set_reason("vipu: 16 IPUs needed");
    seen.add_system_comment("one");
    seen.add_system_comment("two");
    seen.set_environment("A", "1");
    seen.set_environment("B", "2");
    seen.set_environment("A", "3");
    assert_eq!(job.reason().as_deref(), Some("vipu: 16 IPUs needed"));
    assert_eq!(job.system_comment().as_deref(), Some("one; two"));
    assert_eq!(job.environment(), ["A=3", "B=2"]);
    assert_eq!((seen.environment("A").as_deref(), seen.environment("AB")), (Some("3"), None));
    seen.remove_environment("A");
    seen.remove_environment("C");
    assert_eq!(job.environment(), ["B=2"]);
    seen.set_environment("D", "4");
    assert_eq!(job.environment(), ["B=2", "D=4"]);
    assert!(slurm::last_update() > 0, "clients must see the change");
}

fn gives_resources_up(job: &FakeJob) {
    slurm::calls();
    assert!(job.has_resources());
    change(job).give_up_resources();
    assert!(!job.has_resources());
    change(job).give_up_resources();
    assert_eq!(slurm::calls(), [Call::ResourcesFreed]);
}

fn raises_both_gates(job: &FakeJob) {
    let mut seen = change(job);
    seen.raise_launch_gate();
    assert!(seen.is_configuring());
    assert_eq!(job.prolog_running(), 1);
    seen.raise_completion_gate();
    assert_eq!(job.epilogs_running(), (1, true));
}

fn lists_every_job(job: &FakeJob) {
    let mut ids = Vec::new();
    slurm::with_job_list(&[job], || {
        // SAFETY: no other thread touches the fake's job list.
        assert!(unsafe { locks::for_each_job(&mut |job| ids.push(job.id())) }, "all of them");
    });
    assert_eq!(ids, [TEST_JOB]);
    // SAFETY: no other thread touches the fake's job list.
    assert!(!unsafe { locks::for_each_job(&mut |_| {}) }, "there is no list");
}

fn opens_gates_under_the_right_locks() {
    slurm::calls();
    let (done, wait) = mpsc::channel();
    HostThread::spawn("vipu-host", move |mut slurm| {
        let mut locked = slurm.write();
        assert!(locked.job(TEST_JOB).is_some() && locked.job(4711).is_none());
        locked.open_launch_gate(TEST_JOB);
        assert!(locked.requeue(TEST_JOB, true));
        locked.tell_user(TEST_JOB, "hello");
        drop(locked);
        let look = |job: JobRef<'_>| (job.nodes_done(), job.is_suspended(), job.has_ended());
        assert_eq!(slurm.look_at(&[TEST_JOB], look), [Some((true, false, false))]);
        slurm.open_completion_gate(TEST_JOB);
        slurm.kick_scheduler();
        done.send(()).unwrap();
    })
    .unwrap();
    wait.recv().unwrap();
    const WRITE: [u32; 5] = [1, 2, 2, 1, 1];
    const READ_JOBS: [u32; 5] = [0, 1, 0, 1, 0];
    const READ_CONF: [u32; 5] = [1, 0, 0, 0, 0];
    assert_eq!(
        slurm::calls(),
        [
            Call::Lock(WRITE),
            Call::LaunchGateOpened,
            Call::Saved,
            Call::Requeued { job: TEST_JOB, flags: 0x800 },
            Call::Told("hello".into()),
            Call::Unlock(WRITE),
            Call::Lock(READ_JOBS),
            Call::Unlock(READ_JOBS),
            Call::CompletionGateOpened(TEST_JOB),
            Call::Lock(READ_CONF),
            Call::Unlock(READ_CONF),
            Call::Scheduled { deferred: true },
        ]
    );
}

fn a_wrong_layout_ends_all_reading(good: &FakeJob) {
    assert!(!selfcheck::is_pass_through());
    let bad = FakeJob::new(TEST_JOB, "gres:vipu:pod64:1");
    bad.spoil_details();
    // SAFETY: a record of the fake slurmctld; no other thread is there.
    assert!(unsafe { JobRef::from_callback(bad.raw()) }.is_none());
    assert!(selfcheck::is_pass_through());
    // SAFETY: a record of the fake slurmctld; no other thread is there.
    assert!(unsafe { JobRef::from_callback(good.raw()) }.is_none(), "one lie is enough");
    // SAFETY: a record of the fake slurmctld; no other thread is there.
    assert!(unsafe { request_without_layout::wants_ipus(bad.raw()) }, "still told apart, without its layout");
    slurm::with_job_list(&[good], || {
        // SAFETY: no other thread touches the fake's job list.
        assert!(!unsafe { locks::for_each_job(&mut |_| {}) }, "who was not seen need not be gone");
    });
    let other = FakeJob::new(8, "gres:gpu:2");
    // SAFETY: a record of the fake slurmctld; no other thread is there.
    assert!(!unsafe { request_without_layout::wants_ipus(other.raw()) });
    assert!(
        slurm::calls()
            .iter()
            .any(|call| matches!(call, Call::Logged(line) if line.contains("details of job 42 of user 1000 reads wrong")))
    );
}
