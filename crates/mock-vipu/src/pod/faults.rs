//! Faults that a test injects.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tonic::Code;
use vipu_client::{Call, code};

/// A fault that is in force until it is used up or cleared.
///
/// An example in JSON:
/// `{"effect": {"reject": {"rpc": "CreatePartition", "code": "UNAVAILABLE", "text": "busy"}},
/// "partition": "slurm_*", "count": 2}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub effect: Effect,
    /// The name of the partition that it concerns, or the beginning of names followed by `*`; `None`: all
    /// partitions, and calls that concern no partition.
    pub partition: Option<String>,
    /// The number of times that it strikes; `None`: until cleared.
    pub count: Option<u32>,
}

/// The effect of a fault. An `rpc` of `None` means any method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Effect {
    /// The call is answered with a status and not carried out.
    Reject { rpc: Option<Rpc>, code: StatusCode, text: String },
    /// The call is never answered and not carried out.
    Hang { rpc: Option<Rpc> },
    /// The call is carried out late.
    SlowRpc { rpc: Option<Rpc>, delay_ms: u64 },
    /// The call is carried out, and the connection drops before the reply.
    LostReply { rpc: Option<Rpc> },
    /// The call is carried out, and the reply waits until the faults are cleared.
    HeldReply { rpc: Option<Rpc> },
    /// The partition ends in error instead of ACTIVE when it is made. Its status has the text.
    CreateError { text: String },
    /// The create of the partition never ends.
    CreateStuck,
    /// The create of the partition takes its usual time multiplied by the factor.
    SlowCreate { factor: f64 },
    /// The reset of the partition ends in error. Its status has the text.
    ResetError { text: String },
    /// The reset of the partition never ends.
    ResetStuck,
    /// The removal, unless forced, ends in an error, and the partition stays. Its status has the text.
    RemoveFail { text: String },
    /// The removal, unless forced, never ends.
    RemoveStuck,
    /// The IPUoF configuration has no GCDs.
    ConfigEmpty,
    /// The controller behaves in ways that the interface allows and this mock otherwise never shows. This
    /// effect concerns all partitions and lasts until it is cleared.
    OtherHands { seed: u64 },
}

impl Fault {
    /// Makes a fault for all partitions that lasts until it is cleared.
    pub fn new(effect: Effect) -> Self {
        Self { effect, partition: None, count: None }
    }

    /// Limits the fault to partitions whose name matches `pattern` (`*` at its end stands for any text).
    pub fn on(self, pattern: &str) -> Self {
        Self { partition: Some(pattern.to_owned()), ..self }
    }

    /// Limits the fault to `count` times.
    pub fn times(self, count: u32) -> Self {
        Self { count: Some(count), ..self }
    }

    fn concerns(&self, partition: &str) -> bool {
        self.partition.as_ref().is_none_or(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => partition.starts_with(beginning),
            None => partition == pattern,
        })
    }
}

/// A method of the API, for example `CreatePartition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rpc(pub Call);

/// A status code, for example `RESOURCE_EXHAUSTED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StatusCode(pub Code);

impl TryFrom<String> for Rpc {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        let known = Call::ALL.into_iter().find(|call| call.method() == name);
        known.map(Self).ok_or_else(|| format!("the API has no method '{name}'"))
    }
}

impl From<Rpc> for String {
    fn from(rpc: Rpc) -> String {
        rpc.0.method().to_owned()
    }
}

impl TryFrom<String> for StatusCode {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        code::from_name(&name).map(Self).ok_or_else(|| format!("gRPC has no status code '{name}'"))
    }
}

impl From<StatusCode> for String {
    fn from(status: StatusCode) -> String {
        code::name(status.0).to_owned()
    }
}

/// The faults in force, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) armed: Vec<Fault>,
}

/// The effect of the faults on a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallFate {
    pub(crate) delay: Duration,
    /// The effect that replaces the answer.
    pub(crate) end: Option<Effect>,
}

impl Faults {
    /// Uses the oldest fault for this partition from which `picks` returns a value, and counts it once.
    pub(crate) fn take<T>(&mut self, partition: &str, picks: impl Fn(&Effect) -> Option<T>) -> Option<T> {
        let (at, picked) = self.armed.iter().enumerate().find_map(|(at, fault)| {
            let strikes = fault.concerns(partition) && fault.count != Some(0);
            if strikes { picks(&fault.effect).map(|picked| (at, picked)) } else { None }
        })?;
        if let Some(count) = self.armed.get_mut(at).and_then(|fault| fault.count.as_mut()) {
            *count -= 1;
        }
        Some(picked)
    }

    pub(crate) fn on_call(&mut self, call: Call, partition: &str) -> CallFate {
        let meant = |rpc: &Option<Rpc>| rpc.is_none_or(|rpc| rpc.0 == call);
        let delay = self.take(partition, |effect| match effect {
            Effect::SlowRpc { rpc, delay_ms } if meant(rpc) => Some(Duration::from_millis(*delay_ms)),
            _ => None,
        });
        let end = self.take(partition, |effect| match effect {
            Effect::Reject { rpc, .. }
            | Effect::Hang { rpc }
            | Effect::LostReply { rpc }
            | Effect::HeldReply { rpc }
                if meant(rpc) =>
            {
                Some(effect.clone())
            }
            _ => None,
        });
        CallFate { delay: delay.unwrap_or_default(), end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_meets_the_faults_of_its_method() {
        let slow = Effect::SlowRpc { rpc: None, delay_ms: 5 };
        let hang = Effect::Hang { rpc: Some(Rpc(Call::RemovePartition)) };
        let mut faults = Faults { armed: [slow, hang].map(Fault::new).into() };
        let fate = faults.on_call(Call::RemovePartition, "");
        let hangs = |fate: &CallFate| matches!(fate.end, Some(Effect::Hang { .. }));
        assert_eq!((fate.delay, hangs(&fate)), (Duration::from_millis(5), true));
        assert!(!hangs(&faults.on_call(Call::ListPartitions, "")));
    }

    #[test]
    fn faults_are_written_as_documented() {
        let json = r#"{"effect": {"reject": {"rpc": "CreatePartition", "code": "UNAVAILABLE", "text": "busy"}},
            "partition": "slurm_*", "count": 2}"#;
        let effect = Effect::Reject {
            rpc: Some(Rpc(Call::CreatePartition)),
            code: StatusCode(tonic::Code::Unavailable),
            text: "busy".into(),
        };
        assert_eq!(serde_json::from_str::<Fault>(json).unwrap(), Fault::new(effect).on("slurm_*").times(2));
        for (json, effect) in [
            (r#"{"effect": "create-stuck"}"#, Effect::CreateStuck),
            (r#"{"effect": {"hang": {}}}"#, Effect::Hang { rpc: None }),
        ] {
            assert_eq!(serde_json::from_str::<Fault>(json).unwrap(), Fault::new(effect));
        }
        for typo in
            [r#"{"effect": "create-stuck", "counts": 1}"#, r#"{"effect": {"hang": {"rpc": "Crate"}}}"#]
        {
            assert!(serde_json::from_str::<Fault>(typo).is_err(), "{typo}");
        }
    }
}
