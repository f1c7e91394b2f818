//! How jobs end: success, failure, restarts, clean policies, sessions and times.

use ipu_operator::reconcile::{Step, plan};
use serde_json::{Value, json};

use crate::operator::Cache;
use crate::scene::Scene;

fn launcher(mut members: Value) -> Value {
    let all = members.as_object_mut().unwrap();
    all.insert("launcher".to_owned(), json!({"command": ["mpirun"]}));
    all.insert("workersPerJobInstance".to_owned(), json!(2));
    members
}

#[test]
fn k8s_a_finished_job_gives_its_ipus_back_whatever_its_clean_policy() {
    for (policy, kept) in [
        // The workers hold IPUs as long as they run.
        ("None", vec!["job-launcher"]),
        ("Workers", vec!["job-launcher"]),
        ("All", vec![]),
    ] {
        let mut scene = Scene::with(&launcher(json!({"cleanPodPolicy": policy})));
        scene.exit("job-launcher", 0);
        assert_eq!(
            (scene.pods(), scene.used()),
            (kept.iter().map(ToString::to_string).collect(), 0),
            "{policy}"
        );
        let status = scene.status();
        assert_eq!((status.launcher_status.as_str(), status.current_replicas), ("Completed", 0));
        assert_eq!(status.last_message, "All instances done");
        assert!(status.completion_time.is_some());
        assert_eq!(scene.conditions(), ["Created", "Succeeded"]);
    }
}

#[test]
fn k8s_a_switch_keeps_ipus_of_finished_jobs_as_the_vendor_did() {
    for (policy, pods, used) in [("None", 3, 4), ("Workers", 1, 4), ("All", 0, 0)] {
        let mut scene = Scene::new(16);
        scene.operator.settings.finished_jobs_keep_ipus = true;
        let members = launcher(json!({"cleanPodPolicy": policy}));
        scene.world.cluster.create_job(crate::scene::job("job", &members));
        scene.settle();
        scene.exit("job-launcher", 0);
        assert_eq!((scene.pods().len(), scene.used()), (pods, used), "{policy}");
        scene.world.cluster.delete_job("job");
        scene.settle();
        assert!(scene.world.engine.is_empty(), "{policy}");
    }
}

#[test]
fn k8s_workers_alone_are_done_when_all_are_and_fail_with_the_first() {
    let members = json!({"workersPerJobInstance": 2});
    let mut scene = Scene::with(&members);
    scene.exit("job-worker-1", 0);
    assert_eq!(scene.status().launcher_status, "Running");
    scene.exit("job-worker-0", 0);
    assert_eq!((scene.status().launcher_status.as_str(), scene.pods().len()), ("Completed", 2));
    let mut scene = Scene::with(&members);
    scene.exit("job-worker-1", 3);
    assert_eq!(scene.status().launcher_status, "Failed");
    assert_eq!(scene.status().last_message, "instance 0: Pod job-worker-1 ended with exit code 3");
    // The log of the worker that failed stays. The other one runs, and has to go for the IPUs.
    assert_eq!((scene.pods(), scene.used()), (vec!["job-worker-1".to_owned()], 0));
}

#[test]
fn k8s_a_restart_resets_the_partition_and_is_bounded() {
    let mut scene =
        Scene::with(&launcher(json!({"restartPolicy": {"type": "OnFailure", "backOffLimit": 2}})));
    for run in 1..=2 {
        scene.world.cluster.exit("job-launcher", 1);
        scene.tick();
        assert_eq!(scene.status().launcher_status, "Restarting");
        assert_eq!((scene.status().restart_count, scene.used()), (run, 4));
        scene.settle();
        let names = ["job-launcher", "job-worker-0", "job-worker-1"].map(|name| format!("{name}:{run}"));
        assert_eq!((scene.pods(), scene.status().launcher_status.as_str()), (names.into(), "Running"));
    }
    scene.exit("job-launcher", 1);
    assert_eq!((scene.status().launcher_status.as_str(), scene.status().restart_count), ("Failed", 2));
    assert_eq!((scene.used(), scene.conditions()), (0, vec!["Created", "Failed"]));
    assert!(scene.has_event("IPUJobRestarting") && scene.has_event("IPUJobFailed"));
}

#[test]
fn k8s_always_restarts_after_success_too_and_exit_codes_choose() {
    let runs = |policy: Value, code: i32| {
        let mut scene = Scene::with(&launcher(json!({"restartPolicy": policy})));
        scene.exit("job-launcher", code);
        scene.status().restart_count
    };
    assert_eq!(runs(json!({"type": "Always"}), 0), 1);
    assert_eq!(runs(json!({"type": "OnFailure"}), 0), 0);
    let codes = json!({"type": "ExitCode", "exitCodes": "130,137-143"});
    assert_eq!([137, 1].map(|code| runs(codes.clone(), code)), [1, 0]);
}

#[test]
fn k8s_a_pod_that_somebody_deletes_ends_the_run() {
    for (policy, status) in [("Never", "Failed"), ("OnFailure", "Running"), ("ExitCode", "Running")] {
        let mut scene = Scene::with(&launcher(json!({"restartPolicy": {"type": policy}})));
        scene.world.cluster.delete_pod("job-worker-1");
        scene.settle();
        assert_eq!(scene.status().launcher_status, status, "{policy}");
        // By force: the object goes at once.
        let mut scene = Scene::with(&launcher(json!({"restartPolicy": {"type": policy}})));
        scene.world.cluster.pods.remove("job-worker-1");
        scene.settle();
        assert_eq!(scene.status().launcher_status, status, "{policy}, by force");
    }
}

#[test]
fn k8s_an_end_that_a_late_cache_shows_once_more_is_no_other_end() {
    let mut scene = Scene::with(&json!({"restartPolicy": {"type": "OnFailure"}}));
    scene.world.cluster.exit("job-worker-0", 1);
    let late = Cache::of(&scene.world.cluster);
    scene.settle();
    assert_eq!((scene.status().restart_count, scene.status().launcher_status.as_str()), (1, "Running"));
    let cache = Cache { jobs: scene.world.cluster.jobs.clone(), ..late };
    let uid = scene.world.cluster.jobs["job"].metadata.uid.clone().unwrap();
    let seen = scene.world.seen(&cache, &uid, &scene.operator, false);
    let steps = plan(&seen, &scene.operator.settings).steps;
    let restarts =
        steps.iter().find(|step| matches!(step, Step::SetStatus(status) if status.restart_count != 1));
    assert_eq!(restarts, None);
}

#[test]
fn k8s_a_partition_that_breaks_ends_the_run_and_is_made_anew() {
    let mut scene = Scene::with(&json!({"restartPolicy": {"type": "OnFailure"}}));
    scene.world.engine.break_one(0);
    scene.settle();
    assert_eq!(
        (scene.status().launcher_status.as_str(), scene.pods()),
        ("Running", vec!["job-worker-0:1".to_owned()])
    );
}

#[test]
fn k8s_a_failed_job_keeps_pods_and_ipus_for_a_while() {
    let mut scene = Scene::with(&launcher(json!({"keepPartitionSeconds": 600})));
    scene.exit("job-launcher", 1);
    assert_eq!((scene.status().launcher_status.as_str(), scene.pods().len(), scene.used()), ("Failed", 3, 4));
    scene.wait(600);
    assert_eq!((scene.pods(), scene.used()), (vec!["job-launcher".to_owned()], 0));
    let mut scene = Scene::with(&launcher(json!({"keepPartitionSeconds": 600})));
    scene.exit("job-launcher", 0);
    assert_eq!(scene.used(), 0, "a completed job keeps nothing");
}

#[test]
fn k8s_a_session_ends_with_its_time() {
    let mut scene = Scene::with(&json!({"interactive": {"ttl": 600}}));
    assert_eq!(scene.pods(), ["job-launcher", "job-worker-0"]);
    assert_eq!(scene.status().launcher_status, "Running");
    scene.wait(600);
    scene.settle();
    assert_eq!((scene.status().launcher_status.as_str(), scene.used()), ("Completed", 0));
    assert!(scene.pods().is_empty(), "{:?}", scene.pods());
}

#[test]
fn k8s_a_deadline_ends_a_job_without_a_restart() {
    let members = json!({"activeDeadlineSeconds": 600, "restartPolicy": {"type": "Always"}});
    let mut scene = Scene::with(&members);
    scene.wait(600);
    assert_eq!((scene.status().launcher_status.as_str(), scene.used()), ("Failed", 0));
    assert_eq!(scene.status().conditions.last().unwrap().reason, "DeadlineExceeded");
    // A job that waits for IPUs has not begun.
    let mut scene = Scene::with(&json!({"ipusPerJobInstance": 16}));
    scene.world.cluster.create_job(crate::scene::job("second", &members));
    scene.wait(1200);
    assert_eq!(scene.world.cluster.jobs["second"].status.as_ref().unwrap().launcher_status, "Pending");
}

#[test]
fn k8s_a_job_is_deleted_some_time_after_its_end() {
    let mut scene = Scene::with(&json!({"ttlSecondsAfterFinished": 600}));
    scene.exit("job-worker-0", 0);
    assert!(scene.world.cluster.jobs.contains_key("job"));
    scene.wait(600);
    assert!(
        scene.world.cluster.jobs.is_empty() && scene.pods().is_empty() || {
            scene.settle();
            scene.pods().is_empty()
        }
    );
}
