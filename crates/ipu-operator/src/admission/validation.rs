//! Whether a manifest is accepted.

use serde_json::Value;
use vipu_types::{ExitCodes, IpuCount, Ipus};

use super::{JobShape, Verdict, enum_words, names, template};
use crate::api::{IpuJob, IpuJobSpec, RestartType};

/// What the operator knows of the controllers' Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// IPUs of the largest possible partition.
    pub largest: IpuCount,
    /// IPUs of all controllers.
    pub ipus: u32,
    /// IPUs of an IPU-Link domain.
    pub link_domain: IpuCount,
}

/// Judges a new manifest, or a change of `old`. `site` is None while no controller has answered.
pub fn validate(manifest: &Value, old: Option<&Value>, site: Option<&Site>) -> Verdict {
    let mut verdict = Verdict::default();
    // The end of a job is never in the way of a fault in it.
    let is_deleted = !manifest["metadata"]["deletionTimestamp"].is_null();
    if is_deleted || old.is_some_and(|old| old["spec"] == manifest["spec"]) {
        return verdict;
    }
    enum_words::check(&manifest["spec"], &mut verdict);
    if !verdict.is_accepted() {
        return verdict;
    }
    let job: IpuJob = match serde_json::from_value(manifest.clone()) {
        Ok(job) => job,
        Err(error) => {
            verdict.refuse("spec", format_args!("it is no spec of an IPUJob: {error}"));
            return verdict;
        }
    };
    let (meta, spec) = (&job.metadata, &job.spec);
    if old.is_none() {
        names::check(
            meta.name.as_deref(),
            meta.generate_name.as_deref(),
            spec.launcher.is_some(),
            &mut verdict,
        );
    }
    check_parts(spec, &mut verdict);
    template::check(&spec.workers.template, &mut verdict);
    check_times(spec, &mut verdict);
    check_restarts(spec, &mut verdict);
    warn_of_spelling(spec, &mut verdict);
    let old = old.and_then(|old| serde_json::from_value::<IpuJob>(old.clone()).ok());
    match JobShape::of(spec) {
        Ok(shape) => {
            if let Some(old) = old.as_ref().and_then(|old| JobShape::of(&old.spec).ok()) {
                check_change(old, shape, &mut verdict);
            }
            check_site(shape, site, &mut verdict);
        }
        Err(faults) => verdict.refusals.extend(faults.refusals),
    }
    verdict
}

fn check_parts(spec: &IpuJobSpec, verdict: &mut Verdict) {
    if spec.launcher.is_some() && spec.interactive.is_some() {
        verdict.refuse("spec.interactive", "a job has a launcher or a session; remove one of the two");
    }
    if spec.launcher.as_ref().is_some_and(|launcher| launcher.command.is_empty()) {
        verdict.refuse(
            "spec.launcher.command",
            "it is empty; write the line that starts the program, such as [mpirun, -np, \"1\", python3, train.py]",
        );
    }
    if spec.workers.strategy.is_some() {
        verdict.warn(
            "spec.workers.strategy has no effect: a changed template counts for Pods that are created later",
        );
    }
}

fn check_times(spec: &IpuJobSpec, verdict: &mut Verdict) {
    let ttl = spec.interactive.as_ref().map(|session| i64::from(session.ttl));
    let at_least = [
        ("interactive.ttl", ttl, 1),
        ("activeDeadlineSeconds", spec.active_deadline_seconds, 1),
        ("keepPartitionSeconds", spec.keep_partition_seconds, 0),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished, 0),
    ];
    for (field, value, least) in at_least {
        if let Some(seconds) = value.filter(|seconds| *seconds < least) {
            verdict.refuse(
                format!("spec.{field}"),
                format_args!("{seconds} is no time: write seconds, at least {least}"),
            );
        }
    }
}

fn check_restarts(spec: &IpuJobSpec, verdict: &mut Verdict) {
    let policy = &spec.restart_policy;
    if policy.back_off_limit < 0 {
        verdict.refuse(
            "spec.restartPolicy.backOffLimit",
            format_args!("{} is no count: write the most restarts, 0 or more", policy.back_off_limit),
        );
    }
    let Some(codes) = &policy.exit_codes else { return };
    if codes.parse::<ExitCodes>().is_err() {
        verdict.refuse(
            "spec.restartPolicy.exitCodes",
            format_args!(
                "'{codes}' is no list of exit codes: write codes from 1 to 255 and ranges, the lower one first, as \
                 in 130,143-150"
            ),
        );
    }
    if policy.kind != RestartType::ExitCode {
        verdict.warn(format!(
            "spec.restartPolicy.exitCodes has no effect with type {:?}: write type ExitCode",
            policy.kind
        ));
    }
}

fn warn_of_spelling(spec: &IpuJobSpec, verdict: &mut Verdict) {
    if spec.worker_per_job_instance.is_some() {
        verdict.warn("spec.workerPerJobInstance is deprecated: write workersPerJobInstance");
    }
    if spec.model_replicas.is_some() || spec.ipus_per_model_replica.is_some() {
        verdict.warn(
            "spec.modelReplicas and spec.ipusPerModelReplica are deprecated: write ipusPerJobInstance and \
             modelReplicasPerWorker",
        );
    }
}

/// A job keeps its size. Only the number of its instances changes.
fn check_change(old: JobShape, new: JobShape, verdict: &mut Verdict) {
    let advice = "cannot change in a job; delete it, and create it anew";
    if new.ipus != old.ipus {
        verdict.refuse("spec.ipusPerJobInstance", format_args!("{} of an instance {advice}", Ipus(old.ipus)));
    }
    if (new.workers, new.replicas) != (old.workers, old.replicas) {
        verdict.refuse(
            "spec.workersPerJobInstance",
            format_args!("workers and replicas of an instance {advice}"),
        );
    }
}

fn check_site(shape: JobShape, site: Option<&Site>, verdict: &mut Verdict) {
    let Some(site) = site else { return };
    if shape.ipus > site.largest {
        return verdict.refuse(
            "spec.ipusPerJobInstance",
            format_args!(
                "{} are too many: the largest partition here has {}; valid: \"{}\" or less",
                Ipus(shape.ipus),
                site.largest,
                site.largest
            ),
        );
    }
    let domains = shape.ipus.domains(site.link_domain);
    if let Some(replicas) = shape.replicas.filter(|replicas| !replicas.is_multiple_of(domains)) {
        verdict.refuse(
            "spec.modelReplicasPerWorker",
            format_args!(
                "{} are in {domains} IPU-Link domains, and each has the same number of replicas; the job has \
                 {replicas}",
                Ipus(shape.ipus)
            ),
        );
    }
    let all = u64::from(shape.instances) * u64::from(shape.ipus.get());
    if all > u64::from(site.ipus) {
        verdict.refuse(
            "spec.jobInstances",
            format_args!(
                "{} instances of {} need {all} IPUs, and there are {}; valid: {} or less",
                shape.instances,
                Ipus(shape.ipus),
                site.ipus,
                site.ipus / shape.ipus.get()
            ),
        );
    }
}
