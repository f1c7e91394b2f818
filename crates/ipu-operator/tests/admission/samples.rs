//! The vendor's samples and its users', written anew.

use ipu_operator::admission::{JobShape, validate};
use ipu_operator::api::{CleanPodPolicy, IpuJob, RestartType};

use crate::{manifest, pod64};

#[test]
fn k8s_manifests_of_all_versions_mean_what_they_meant() {
    for (name, instances, ipus, workers, replicas, warnings) in [
        ("single-gcd", 1, 1, 1, Some(1), 1),
        ("interactive", 1, 2, 1, None, 0),
        ("inference", 1, 1, 1, None, 0),
        ("nfs", 1, 1, 1, None, 0),
        ("mnist", 1, 1, 1, None, 0),
        ("mnist-generated", 1, 1, 1, None, 0),
        ("bert", 1, 4, 1, None, 0),
        ("poprun-64", 1, 64, 1, Some(16), 0),
        ("profiling", 1, 1, 1, None, 0),
        ("tensorflow", 1, 1, 1, None, 0),
        ("popart", 1, 1, 1, None, 0),
        ("poplar", 1, 1, 1, None, 0),
        ("resnet", 1, 8, 1, None, 0),
        ("oldest", 1, 4, 1, Some(4), 1),
        ("poprun-launcher", 1, 16, 4, Some(8), 0),
        ("rolling", 4, 2, 1, None, 1),
    ] {
        let manifest = manifest(name);
        let verdict = validate(&manifest, None, Some(&pod64()));
        assert!(verdict.is_accepted(), "{name}: {}", verdict.line());
        assert_eq!(verdict.warnings.len(), warnings, "{name}: {:?}", verdict.warnings);
        let job: IpuJob = serde_json::from_value(manifest).unwrap();
        let shape = JobShape::of(&job.spec).unwrap();
        let found = (shape.instances, shape.ipus.get(), shape.workers, shape.replicas);
        assert_eq!(found, (instances, ipus, workers, replicas), "{name}");
        let domain = pod64().link_domain;
        assert!(shape.partition(domain).check(shape.ipus, domain).is_ok(), "{name}");
    }
}

#[test]
fn k8s_fields_left_out_have_the_defaults_of_the_vendor() {
    let job: IpuJob = serde_json::from_value(manifest("mnist")).unwrap();
    assert_eq!(job.spec.clean_pod_policy, CleanPodPolicy::None);
    let restart = job.spec.restart_policy;
    assert_eq!((restart.kind, restart.back_off_limit, restart.exit_codes), (RestartType::Never, 3, None));
}

#[test]
fn k8s_a_template_keeps_members_of_later_releases() {
    let manifest = manifest("rolling");
    let job: IpuJob = serde_json::from_value(manifest.clone()).unwrap();
    assert_eq!(
        serde_json::to_value(job.spec.workers.template).unwrap(),
        manifest["spec"]["workers"]["template"]
    );
}
