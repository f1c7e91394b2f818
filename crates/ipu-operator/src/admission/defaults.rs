//! The numbers of a job, from the fields that decide them together.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use vipu_types::{IpuCount, Ipus, NotASize, Shape};

use super::Verdict;
use crate::api::{IpuJobSpec, count};

/// Most instances of a job: the status of each is in one object, and their numbers end the names of Pods.
const MOST_INSTANCES: u32 = 1000;

/// Most workers of a job, as their numbers end the names of Pods.
const MOST_WORKERS: u64 = 100_000;

/// The numbers of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobShape {
    /// Instances, each with a partition.
    pub instances: u32,
    /// IPUs of each instance.
    pub ipus: IpuCount,
    /// Workers of each instance.
    pub workers: u32,
    /// Replicas of each instance. None if the manifest does not say it.
    pub replicas: Option<u32>,
}

impl JobShape {
    /// The numbers that a spec means.
    ///
    /// # Errors
    /// The faults of the spec.
    pub fn of(spec: &IpuJobSpec) -> Result<Self, Verdict> {
        let mut verdict = Verdict::default();
        let shape = Self::find(spec, &mut verdict);
        shape.filter(|_| verdict.is_accepted()).ok_or(verdict)
    }

    /// The shape of each instance's partition: a GCD for each worker, and at least one for each IPU-Link domain.
    pub fn partition(self, link_domain: IpuCount) -> Shape {
        let gcds = self.workers.max(self.ipus.domains(link_domain));
        Shape { gcds, replicas: self.replicas, ..Shape::OPEN }
    }

    fn find(spec: &IpuJobSpec, verdict: &mut Verdict) -> Option<Self> {
        let instances = u32::try_from(spec.job_instances).ok().filter(|instances| *instances > 0);
        if instances.is_none() {
            verdict.refuse(
                "spec.jobInstances",
                format_args!(
                    "{} is no count: a job has at least 1 instance; to end the job, delete it",
                    spec.job_instances
                ),
            );
        }
        if let Some(instances) = instances.filter(|instances| *instances > MOST_INSTANCES) {
            verdict.refuse(
                "spec.jobInstances",
                format_args!("{instances} are too many; valid: {MOST_INSTANCES} or less"),
            );
        }
        let (ipus, replicas) = ipus_and_replicas(spec, verdict);
        let workers = workers(spec, verdict)?;
        let each = read("modelReplicasPerWorker", spec.model_replicas_per_worker.as_ref(), verdict);
        let ipus = ipus?;
        check_workers(ipus, workers, verdict)?;
        let replicas = all_replicas(replicas, each, workers, verdict);
        if let Some(replicas) = replicas {
            check_replicas(ipus, workers, replicas, verdict);
        }
        let all = u64::from(instances.unwrap_or(1)) * u64::from(workers);
        if all > MOST_WORKERS {
            verdict.refuse(
                "spec.workersPerJobInstance",
                format_args!("the job has {all} workers; valid: {MOST_WORKERS} or less in all instances"),
            );
        }
        Some(Self { instances: instances?, ipus, workers, replicas })
    }
}

/// Each worker has the same number of IPUs, at least one.
fn check_workers(ipus: IpuCount, workers: u32, verdict: &mut Verdict) -> Option<()> {
    if workers.is_power_of_two() && workers <= ipus.get() {
        return Some(());
    }
    let below = workers.min(ipus.get()).checked_ilog2().map(|power| 1 << power);
    let above = workers.checked_next_power_of_two().filter(|above| *above <= ipus.get());
    let valid: Vec<IpuCount> =
        below.into_iter().chain(above).filter_map(|count: u32| count.try_into().ok()).collect();
    verdict.refuse(
        "spec.workersPerJobInstance",
        format_args!(
            "{} cannot be divided among {workers} workers, each with the same number; valid: {}",
            Ipus(ipus),
            in_words(&valid)
        ),
    );
    None
}

/// The replicas of an instance, by the oldest form of manifests or by the number in each worker.
fn all_replicas(all: Option<u32>, each: Option<u32>, workers: u32, verdict: &mut Verdict) -> Option<u32> {
    let Some(each) = each else { return all };
    let product = each.saturating_mul(workers);
    if let Some(all) = all.filter(|all| *all != product) {
        verdict.refuse(
            "spec.modelReplicas",
            format_args!(
                "{all} replicas are not {workers} workers with {each} each; leave modelReplicas out"
            ),
        );
        return None;
    }
    Some(product)
}

/// Each worker has the same number of replicas, and each replica the same number of IPUs.
fn check_replicas(ipus: IpuCount, workers: u32, replicas: u32, verdict: &mut Verdict) {
    if ipus.get().is_multiple_of(replicas) && replicas.is_multiple_of(workers) {
        return;
    }
    let most = ipus.get() / workers;
    let valid: Vec<_> = (0..=most.ilog2()).filter_map(|power| IpuCount::new(1 << power).ok()).collect();
    verdict.refuse(
        "spec.modelReplicasPerWorker",
        format_args!(
            "{} cannot be divided among {replicas} replicas; valid for each worker: {}",
            Ipus(ipus),
            in_words(&valid)
        ),
    );
}

/// The IPUs of an instance, and its replicas in the oldest form of manifests.
fn ipus_and_replicas(spec: &IpuJobSpec, verdict: &mut Verdict) -> (Option<IpuCount>, Option<u32>) {
    let direct = read("ipusPerJobInstance", spec.ipus_per_job_instance.as_ref(), verdict);
    let replicas = read("modelReplicas", spec.model_replicas.as_ref(), verdict);
    let each = read("ipusPerModelReplica", spec.ipus_per_model_replica.as_ref(), verdict);
    let product = replicas.zip(each).map(|(replicas, each)| replicas.saturating_mul(each));
    let (field, ipus) = match (direct, product) {
        (Some(direct), Some(product)) if direct != product => {
            verdict.refuse(
                "spec.ipusPerJobInstance",
                format_args!("{direct} is not modelReplicas times ipusPerModelReplica, which is {product}; leave these two \
                     out"),
            );
            return (None, None);
        }
        (Some(direct), _) => ("ipusPerJobInstance", direct),
        (None, Some(product)) => ("ipusPerModelReplica", product),
        (None, None) => {
            if spec.ipus_per_job_instance.is_none() && verdict.is_accepted() {
                verdict
                    .refuse("spec.ipusPerJobInstance", "it is missing; add the number of IPUs, as in \"4\"");
            }
            return (None, None);
        }
    };
    let size = IpuCount::new(ipus.into()).map_err(|why| {
        let valid = match why {
            NotASize::NotPowerOfTwo { below, above, .. } => format!("; valid: \"{below}\" or \"{above}\""),
            NotASize::Zero | NotASize::TooLarge(_) => String::new(),
        };
        verdict.refuse(format!("spec.{field}"), format_args!("{why}{valid}"));
    });
    (size.ok(), replicas)
}

/// The workers of an instance. Three fields may say it, and have to agree.
fn workers(spec: &IpuJobSpec, verdict: &mut Verdict) -> Option<u32> {
    let replicas = spec.workers.replicas.map(IntOrString::Int);
    let fields = [
        ("workersPerJobInstance", spec.workers_per_job_instance.as_ref()),
        ("workerPerJobInstance", spec.worker_per_job_instance.as_ref()),
        ("workers.replicas", replicas.as_ref()),
    ];
    let faults = verdict.refusals.len();
    let said: Vec<(&str, u32)> =
        fields.into_iter().filter_map(|(field, value)| Some((field, read(field, value, verdict)?))).collect();
    if verdict.refusals.len() > faults {
        return None;
    }
    let Some((first, workers)) = said.first().copied() else { return Some(1) };
    let other = said.iter().find(|(_, count)| *count != workers);
    if let Some((field, count)) = other {
        verdict.refuse(
            format!("spec.{field}"),
            format_args!("{count} is not {first}, which is {workers}; leave {field} out"),
        );
        return None;
    }
    Some(workers)
}

fn read(field: &str, value: Option<&IntOrString>, verdict: &mut Verdict) -> Option<u32> {
    count(value?).map_err(|why| verdict.refuse(format!("spec.{field}"), why)).ok()
}

/// Counts in words, as in `1, 2 or 4`.
fn in_words(counts: &[IpuCount]) -> String {
    let counts: Vec<_> = counts.iter().map(IpuCount::to_string).collect();
    match counts.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => counts.concat(),
    }
}
