//! Whether a run that has ended begins again.

use vipu_types::ExitCodes;

use crate::api::{CleanPodPolicy, IpuJobSpec, Outcome, RestartType};

/// The exit codes after which a job restarts with type ExitCode, if it names none: those of signals.
const OF_SIGNALS: std::ops::RangeInclusive<u8> = 128..=255;

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) outcome: Outcome,
    /// None if a Pod was lost, or the partition, and no program failed.
    pub(super) exit_code: Option<u8>,
    /// One line for people.
    pub(super) message: String,
    /// Whether the end is that of the session or of the deadline.
    pub(super) is_by_time: bool,
}

impl End {
    pub(super) fn succeeded(message: impl Into<String>) -> Self {
        Self { outcome: Outcome::Succeeded, exit_code: None, message: message.into(), is_by_time: false }
    }

    pub(super) fn failed(exit_code: Option<u8>, message: impl Into<String>) -> Self {
        Self { outcome: Outcome::Failed, exit_code, message: message.into(), is_by_time: false }
    }

    pub(super) fn by_time(self) -> Self {
        Self { is_by_time: true, ..self }
    }
}

/// Whether the job restarts after this end, having done so `restarts` times.
pub(super) fn restarts(spec: &IpuJobSpec, end: &End, restarts: i32) -> bool {
    let policy = &spec.restart_policy;
    let wants = match policy.kind {
        RestartType::Never => false,
        RestartType::Always => true,
        RestartType::OnFailure => end.outcome == Outcome::Failed,
        RestartType::ExitCode => {
            let of_policy = policy.exit_codes.as_ref().and_then(|codes| codes.parse::<ExitCodes>().ok());
            let is_listed = |code| of_policy.map_or(OF_SIGNALS.contains(&code), |codes| codes.contains(code));
            // A lost node is not the program's fault.
            end.outcome == Outcome::Failed && end.exit_code.is_none_or(is_listed)
        }
    };
    // All means that nothing stays, and outranks the policy.
    wants
        && !end.is_by_time
        && restarts < policy.back_off_limit
        && spec.clean_pod_policy != CleanPodPolicy::All
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::RestartPolicy;

    fn again(kind: RestartType, codes: Option<&str>, end: &End) -> bool {
        let restart_policy = RestartPolicy { kind, back_off_limit: 3, exit_codes: codes.map(str::to_owned) };
        restarts(&IpuJobSpec { restart_policy, ..IpuJobSpec::default() }, end, 0)
    }

    #[test]
    fn k8s_each_policy_restarts_after_its_ends() {
        let (good, lost) = (End::succeeded(""), End::failed(None, ""));
        let [one, killed] = [1, 137].map(|code| End::failed(Some(code), ""));
        for (kind, codes, after) in [
            (RestartType::Never, None, [false; 4]),
            (RestartType::Always, None, [true; 4]),
            (RestartType::OnFailure, None, [false, true, true, true]),
            (RestartType::ExitCode, None, [false, false, true, true]),
            (RestartType::ExitCode, Some("1,143"), [false, true, false, true]),
        ] {
            let found = [&good, &one, &killed, &lost].map(|end| again(kind, codes, end));
            assert_eq!(found, after, "{kind:?} {codes:?}");
        }
    }

    #[test]
    fn k8s_restarts_have_bounds() {
        let mut spec = IpuJobSpec::default();
        spec.restart_policy.kind = RestartType::Always;
        let end = End::failed(Some(1), "");
        assert_eq!([2, 3].map(|already| restarts(&spec, &end, already)), [true, false]);
        assert!(!restarts(&spec, &end.clone().by_time(), 0), "its time is over");
        spec.clean_pod_policy = CleanPodPolicy::All;
        assert!(!restarts(&spec, &end, 0), "All acts as Never");
    }
}
