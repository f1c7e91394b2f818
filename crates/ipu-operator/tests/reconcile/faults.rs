//! Nodes that are lost, Pods that cannot come, controllers that do not answer.

use serde_json::json;

use crate::scene::{Scene, job};

/// More ticks than a node may be silent before its Pods are deleted.
const LONG: i64 = 600;

#[test]
fn k8s_ipus_of_a_lost_node_wait_until_it_is_certainly_over() {
    for ending in ["back", "removed", "force"] {
        let mut scene = Scene::with(&json!({"restartPolicy": {"type": "OnFailure"}}));
        scene.world.cluster.lose(0, false);
        scene.wait(LONG);
        assert_eq!((scene.status().launcher_status.as_str(), scene.used()), ("Restarting", 4), "{ending}");
        let message = &scene.status().last_message;
        assert!(message.contains("the node of Pod job-worker-0, which does not answer"), "{message}");
        match ending {
            "back" => scene.world.cluster.recover(0),
            "removed" => scene.world.cluster.remove_node(0),
            _ => {
                scene.world.cluster.lose(0, true);
                scene.world.cluster.pods.clear();
            }
        }
        scene.settle();
        assert_eq!(
            (scene.status().launcher_status.as_str(), scene.pods()),
            ("Running", vec!["job-worker-0:1".into()]),
            "{ending}"
        );
    }
}

#[test]
fn k8s_a_node_that_is_silent_for_a_moment_harms_nobody() {
    let mut scene = Scene::with(&json!({}));
    scene.world.cluster.lose(0, false);
    scene.wait(100);
    scene.world.cluster.recover(0);
    scene.wait(LONG);
    assert_eq!(
        (scene.status().launcher_status.as_str(), scene.pods()),
        ("Running", vec!["job-worker-0".into()])
    );
}

#[test]
fn k8s_no_partition_waits_for_a_pod_that_is_refused() {
    let mut scene = Scene::new(4);
    scene.world.cluster.refuses.push("job".to_owned());
    scene.world.cluster.create_job(job("job", &json!({})));
    scene.settle();
    scene.world.cluster.create_job(job("second", &json!({})));
    (0..20).for_each(|_| {
        if !scene.has_event("PodsCannotStart") {
            scene.tick();
        }
    });
    let message = &scene.status().last_message;
    assert!(message.starts_with("instance 0: its IPUs are given back until 2026-01-01T00:"), "{message}");
    assert!(message.ends_with("as Pod job-worker-0 is refused: exceeded quota: cpu"), "{message}");
    scene.wait(100);
    assert!(scene.has_event("PodsCannotStart"));
    assert_eq!((scene.pods(), scene.status().restart_count), (vec!["second-worker-0".to_owned()], 0));
    // The quota grows, and the IPUs are free again.
    scene.world.cluster.refuses.clear();
    scene.exit("second-worker-0", 0);
    scene.wait(600);
    assert_eq!(scene.status().launcher_status, "Running");
}

#[test]
fn k8s_no_partition_waits_for_ever_for_a_pod_that_has_no_node() {
    let mut scene = Scene::new(4);
    scene.world.cluster.unscheduled.push("job".to_owned());
    scene.world.cluster.create_job(job("job", &json!({})));
    scene.wait(600);
    scene.world.cluster.create_job(job("second", &json!({})));
    scene.wait(1300);
    assert!(scene.has_event("PodsCannotStart"));
    assert_eq!(scene.pods(), ["second-worker-0"]);
}

#[test]
fn k8s_a_deleted_job_does_not_wait_for_ever_for_its_controller() {
    let mut scene = Scene::with(&json!({}));
    scene.world.engine.slowness = 1_000;
    scene.world.cluster.delete_job("job");
    scene.wait(500);
    assert!(scene.world.cluster.jobs.contains_key("job"));
    scene.wait(200);
    assert!(scene.world.cluster.jobs.is_empty() && scene.used() == 4, "the journal keeps the partition");
    assert!(scene.has_event("PartitionsLeft"));
    scene.wait(10_000);
    assert!(scene.world.engine.is_empty());
}
