//! The life of a job: creation, scaling, deletion.

use serde_json::json;

use crate::scene::{Scene, job};
use ipu_operator::reconcile::{Role, Step};

#[test]
fn k8s_the_finalizer_comes_before_ipus_and_ipus_before_pods() {
    let mut scene = Scene::new(16);
    scene
        .world
        .cluster
        .create_job(job("job", &json!({"launcher": {"command": ["mpirun"]}, "workersPerJobInstance": 2})));
    let mut steps = Vec::new();
    for _ in 0..12 {
        scene.tick();
        steps.append(&mut scene.steps);
    }
    let at = |wanted: &dyn Fn(&Step) -> bool| steps.iter().position(wanted).unwrap();
    let created = |wanted: Role| at(&|step| matches!(step, Step::CreatePod { role, .. } if *role == wanted));
    let order = [
        at(&|step| *step == Step::AddFinalizer),
        at(&|step| matches!(step, Step::SetStatus(_))),
        at(&|step| matches!(step, Step::Apply(_))),
        at(&|step| matches!(step, Step::Want { .. })),
        created(Role::Worker(0)),
        created(Role::Worker(1)),
        created(Role::Launcher),
    ];
    assert!(order.is_sorted(), "{order:?}: {steps:?}");
    assert_eq!(scene.pods(), ["job-launcher", "job-worker-0", "job-worker-1"]);
    assert_eq!((scene.status().launcher_status.as_str(), scene.status().current_replicas), ("Running", 1));
    assert_eq!(scene.status().last_message, "Successfully reconciled IPUJob");
    assert_eq!(scene.conditions(), ["Created", "Running"]);
    assert!(scene.status().ipu_partition_created);
}

#[test]
fn k8s_a_job_that_waits_for_ipus_says_so() {
    let mut scene = Scene::with(&json!({"ipusPerJobInstance": 16}));
    scene.world.cluster.create_job(job("second", &json!({})));
    scene.settle();
    let second = scene.world.cluster.jobs["second"].status.clone().unwrap();
    assert_eq!((second.launcher_status.as_str(), second.current_replicas), ("Pending", 0));
    assert_eq!(second.last_message, "instance 0: 4 IPUs needed");
    assert_eq!(scene.pods(), ["job-worker-0"]);
    scene.exit("job-worker-0", 0);
    assert_eq!(scene.pods(), ["job-worker-0", "second-worker-0"]);
}

#[test]
fn k8s_instances_are_scaled_lowest_first_and_go_highest_first() {
    let mut scene = Scene::with(&json!({}));
    assert_eq!(scene.pods(), ["job-worker-0"]);
    scene.change(|job| job.spec.job_instances = 4);
    assert_eq!(scene.pods(), ["job-worker-0", "job-worker-1", "job-worker-2", "job-worker-3"]);
    assert_eq!((scene.status().current_replicas, scene.status().desired_replicas), (4, 4));
    scene.world.cluster.change("job", |job| job.spec.job_instances = 1);
    scene.tick();
    let deleted = scene.steps.iter().filter_map(|step| match step {
        Step::DeletePod { name, .. } => Some(name.as_str()),
        _ => None,
    });
    assert_eq!(deleted.collect::<Vec<_>>(), ["job-worker-3", "job-worker-2", "job-worker-1"]);
    scene.settle();
    assert_eq!((scene.pods(), scene.used()), (vec!["job-worker-0".to_owned()], 4));
    assert_eq!(scene.status().instances.len(), 1);
    // Again, before the old Pods are gone.
    scene.change(|job| job.spec.job_instances = 3);
    scene.world.cluster.change("job", |job| job.spec.job_instances = 1);
    scene.tick();
    scene.change(|job| job.spec.job_instances = 3);
    assert_eq!((scene.pods().len(), scene.used(), scene.status().restart_count), (3, 12, 0));
}

#[test]
fn k8s_a_launcher_of_each_instance_has_workers_of_its_own() {
    let scene = Scene::with(
        &json!({"launcher": {"command": ["mpirun"]}, "workersPerJobInstance": 2, "jobInstances": 2}),
    );
    let names =
        ["job-launcher", "job-launcher-1", "job-worker-0", "job-worker-1", "job-worker-2", "job-worker-3"];
    assert_eq!(scene.pods(), names);
}

#[test]
fn k8s_a_job_deleted_at_any_moment_leaves_nothing() {
    for (members, most) in [(json!({}), 10), (json!({"launcher": {"command": ["a"]}, "jobInstances": 2}), 14)]
    {
        for moment in 0..most {
            let mut scene = Scene::new(16);
            scene.world.cluster.create_job(job("job", &members));
            (0..moment).for_each(|_| scene.tick());
            scene.world.cluster.delete_job("job");
            scene.settle();
            assert!(scene.world.cluster.jobs.is_empty(), "at {moment}: {:?}", scene.world.cluster.jobs);
            assert!(scene.world.engine.is_empty() && scene.pods().is_empty(), "at {moment}");
        }
    }
}

#[test]
fn k8s_a_finalizer_of_others_keeps_no_ipus() {
    let mut scene = Scene::with(&json!({}));
    scene.change(|job| job.metadata.finalizers.get_or_insert_default().push("example.org/other".to_owned()));
    scene.world.cluster.delete_job("job");
    scene.settle();
    let job = &scene.world.cluster.jobs["job"];
    assert_eq!(job.metadata.finalizers.as_ref().unwrap(), &["example.org/other"]);
    assert!(scene.world.engine.is_empty());
}

#[test]
fn k8s_a_finalizer_removed_by_hand_is_put_back_and_a_job_gone_without_it_frees_its_ipus() {
    let mut scene = Scene::with(&json!({}));
    scene.change(|job| job.metadata.finalizers = None);
    assert!(scene.world.cluster.has_finalizer("job"));
    scene.world.cluster.delete_job("job");
    scene.world.cluster.change("job", |job| job.metadata.finalizers = None);
    assert!(scene.world.cluster.jobs.is_empty() && scene.used() == 4);
    scene.settle();
    assert!(scene.world.engine.is_empty() && scene.pods().is_empty());
}

#[test]
fn k8s_a_job_that_no_webhook_saw_fails_with_the_reason() {
    let mut scene = Scene::with(&json!({"ipusPerJobInstance": "3"}));
    assert_eq!(scene.status().launcher_status, "Failed");
    let message = "spec.ipusPerJobInstance: 3 IPUs is not a power of two; valid: \"2\" or \"4\"";
    assert_eq!(scene.status().last_message, message);
    assert_eq!(scene.status().conditions.last().unwrap().reason, "InvalidSpec");
    assert!(scene.world.engine.is_empty());
    scene.world.cluster.delete_job("job");
    scene.settle();
    assert!(scene.world.cluster.jobs.is_empty());
}
