//! The Pods of jobs, and what is beside their launcher.

use std::collections::BTreeMap;

use ipu_operator::admission::JobShape;
use ipu_operator::api::IpuJob;
use ipu_operator::reconcile::{ReadyPartition, Role, Settings, Support, WantedPod};
use serde_json::{Value, json};

fn sample(text: &str) -> IpuJob {
    let mut job: IpuJob = serde_saphyr::from_str(text).unwrap();
    job.metadata.namespace = Some("default".to_owned());
    job.metadata.uid = Some("uid".to_owned());
    job
}

fn pod(job: &IpuJob, instance: u32, role: Role, settings: &Settings) -> Value {
    let partition = ReadyPartition {
        id: "k8s_7".to_owned(),
        run: 2,
        host: "vipu.example.org".to_owned(),
        port: 8090,
        node_labels: BTreeMap::from([("vipu-ctrl".to_owned(), "c1".to_owned())]),
    };
    let shape = JobShape::of(&job.spec).unwrap();
    WantedPod { job, shape, instance, role, partition: &partition, settings }.object()
}

fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap()
}

#[test]
fn k8s_pods_of_an_mpi_job_are_as_recorded() {
    let mut job = sample(include_str!("../admission/manifests/poprun-launcher.yaml"));
    job.spec.workers.template = serde_json::from_value(json!({
        "metadata": {"labels": {"app": "train"}, "annotations": {"example.org/team": "vision"}},
        "spec": {
            "serviceAccountName": "data",
            "nodeSelector": {"disk": "ssd"},
            "initContainers": [{"name": "fetch", "image": "example/fetch"}],
            "containers": [
                {
                    "name": "program",
                    "image": "example/pytorch:3.3.0",
                    "args": ["unused"],
                    "env": [
                        {"name": "IPUOF_LOG_LEVEL", "value": "INFO"},
                        {"name": "IPUOF_VIPU_API_GCD_ID", "value": "7"},
                    ],
                    "livenessProbe": {"exec": {"command": ["true"]}},
                    "volumeMounts": [{"name": "sample", "mountPath": "/mnt/sample"}],
                },
                {"name": "log", "image": "example/log"},
            ],
            "volumes": [{"name": "sample", "persistentVolumeClaim": {"claimName": "sample"}}],
        },
    }))
    .unwrap();
    let settings = Settings { image: "example/ipu-operator:1".to_owned(), ..Settings::default() };
    insta::assert_snapshot!("launcher", yaml(&pod(&job, 0, Role::Launcher, &settings)));
    insta::assert_snapshot!("worker", yaml(&pod(&job, 0, Role::Worker(3), &settings)));
}

#[test]
fn k8s_objects_beside_a_launcher_are_as_recorded() {
    let mut job = sample(include_str!("../admission/manifests/poprun-launcher.yaml"));
    job.spec.job_instances = 2;
    let shape = JobShape::of(&job.spec).unwrap();
    let all = Support::ALL.map(|kind| yaml(&kind.object(&job, shape)));
    insta::assert_snapshot!(all.join("---\n"));
}

#[test]
fn k8s_a_worker_without_a_launcher_runs_its_own_command_and_keeps_what_is_newer() {
    let job = sample(include_str!("../admission/manifests/rolling.yaml"));
    let settings = Settings::default();
    let worker = pod(&job, 3, Role::Worker(0), &settings);
    assert_eq!(worker["metadata"]["name"], "rolling-worker-3");
    let spec = &worker["spec"];
    assert_eq!(spec["schedulingGroup"], json!({"podGroupName": "group"}));
    assert_eq!(spec["initContainers"][0]["restartPolicy"], "Always");
    assert_eq!(spec["nodeSelector"], json!({"disk": "ssd", "vipu-ctrl": "c1"}));
    let mnist = sample(include_str!("../admission/manifests/mnist.yaml"));
    let template = mnist.spec.workers.template["spec"]["containers"][0].clone();
    let container = &pod(&mnist, 0, Role::Worker(0), &settings)["spec"]["containers"][0];
    assert_eq!((&container["command"], &container["args"]), (&template["command"], &template["args"]));
}

#[test]
fn k8s_the_template_decides_on_the_network_of_the_node() {
    let mut job = sample(include_str!("../admission/manifests/mnist.yaml"));
    let network = |job: &IpuJob, host_network| {
        let settings = Settings { host_network, ..Settings::default() };
        let spec = pod(job, 0, Role::Worker(0), &settings)["spec"].clone();
        (spec["hostNetwork"].as_bool(), spec["dnsPolicy"].as_str().map(str::to_owned))
    };
    let of_host = (Some(true), Some("ClusterFirstWithHostNet".to_owned()));
    assert_eq!([network(&job, true), network(&job, false)], [of_host, (None, None)]);
    job.spec.workers.template["spec"]["hostNetwork"] = json!(false);
    assert_eq!(network(&job, true), (Some(false), None));
}
