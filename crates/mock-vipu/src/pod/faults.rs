//! Faults that a test injects.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use vipu_client::Call;

use super::json_names::{Pattern, Rpc, StatusCode};

/// A fault that is in force until it is used up or cleared.
///
/// An example in JSON:
/// `{"effect": {"reject": {"rpc": "CreatePartition", "code": "UNAVAILABLE", "text": "busy"}},
/// "partition": "slurm_*", "count": 2}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The effect of the fault.
    pub effect: Effect,
    /// The partitions that it concerns; `None`: all, and calls that concern no partition.
    #[serde(default)]
    pub partition: Option<Pattern>,
    /// The number of times that it strikes; `None`: until cleared.
    #[serde(default)]
    pub count: Option<u32>,
}

/// The effect of a fault. An `rpc` of `None` means any method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Effect {
    /// The call is answered with a status and not carried out.
    Reject {
        /// The method.
        #[serde(default)]
        rpc: Option<Rpc>,
        /// The status code.
        code: StatusCode,
        /// The status message.
        text: String,
    },
    /// The call is never answered and not carried out.
    Hang {
        /// The method.
        #[serde(default)]
        rpc: Option<Rpc>,
    },
    /// The call is carried out late.
    SlowRpc {
        /// The method.
        #[serde(default)]
        rpc: Option<Rpc>,
        /// The delay, in milliseconds.
        delay_ms: u64,
    },
    /// The call is carried out, and the connection drops before the reply.
    LostReply {
        /// The method.
        #[serde(default)]
        rpc: Option<Rpc>,
    },
    /// The call is carried out, and the reply waits until the faults are cleared.
    HeldReply {
        /// The method.
        #[serde(default)]
        rpc: Option<Rpc>,
    },
    /// The partition ends in error instead of ACTIVE when it is made.
    CreateError {
        /// The error in its status.
        text: String,
    },
    /// The create of the partition never ends.
    CreateStuck,
    /// The create of the partition takes longer or shorter.
    SlowCreate {
        /// The factor on the usual time.
        factor: f64,
    },
    /// The removal, unless forced, ends in an error, and the partition stays.
    RemoveFail {
        /// The error in its status.
        text: String,
    },
    /// The removal, unless forced, never ends.
    RemoveStuck,
    /// The IPUoF configuration has no GCDs.
    ConfigEmpty,
    /// The controller behaves in ways that the interface allows and this mock otherwise never shows. This
    /// effect concerns all partitions and lasts until it is cleared.
    OtherHands {
        /// The seed of the behaviour.
        seed: u64,
    },
}

impl Fault {
    /// Makes a fault for all partitions that lasts until it is cleared.
    #[must_use]
    pub fn new(effect: Effect) -> Self {
        Self { effect, partition: None, count: None }
    }

    /// Limits the fault to partitions whose name matches `pattern` (`*` at its end stands for any text).
    #[must_use]
    pub fn on(self, pattern: &str) -> Self {
        Self { partition: Some(Pattern(pattern.to_owned())), ..self }
    }

    /// Limits the fault to `count` times.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self { count: Some(count), ..self }
    }
}

/// The faults in force, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    armed: Vec<Fault>,
}

/// The effect of the faults on a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallFate {
    pub(crate) delay: Duration,
    /// The effect that replaces the answer.
    pub(crate) end: Option<Effect>,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.armed.push(fault);
    }

    pub(crate) fn clear(&mut self) {
        self.armed.clear();
    }

    /// Uses the oldest fault for this partition from which `picks` returns a value, and counts it once.
    pub(crate) fn take<T>(&mut self, partition: &str, picks: impl Fn(&Effect) -> Option<T>) -> Option<T> {
        let (at, picked) = self.armed.iter().enumerate().find_map(|(at, fault)| {
            let meant = fault.partition.as_ref().is_none_or(|pattern| pattern.matches(partition));
            let left = fault.count != Some(0);
            if meant && left { picks(&fault.effect).map(|picked| (at, picked)) } else { None }
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

    fn stuck(faults: &mut Faults, partition: &str) -> bool {
        faults.take(partition, |effect| (*effect == Effect::CreateStuck).then_some(())).is_some()
    }

    #[test]
    fn a_fault_strikes_only_its_partitions_and_count() {
        let mut faults = Faults::default();
        faults.add(Fault::new(Effect::RemoveStuck));
        faults.add(Fault::new(Effect::CreateStuck).on("slurm_*").times(2));
        assert!(!stuck(&mut faults, "other"));
        assert!(stuck(&mut faults, "slurm_1"));
        assert!(stuck(&mut faults, "slurm_2"));
        assert!(!stuck(&mut faults, "slurm_3"));
    }

    #[test]
    fn a_call_meets_the_faults_of_its_method() {
        let mut faults = Faults::default();
        faults.add(Fault::new(Effect::SlowRpc { rpc: None, delay_ms: 5 }));
        faults.add(Fault::new(Effect::Hang { rpc: Some(Rpc(Call::RemovePartition)) }));
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
        let plain: Fault = serde_json::from_str(r#"{"effect": "create-stuck"}"#).unwrap();
        assert_eq!(plain, Fault::new(Effect::CreateStuck));
        for typo in
            [r#"{"effect": "create-stuck", "counts": 1}"#, r#"{"effect": {"hang": {"rpc": "Crate"}}}"#]
        {
            assert!(serde_json::from_str::<Fault>(typo).is_err(), "{typo}");
        }
    }
}
