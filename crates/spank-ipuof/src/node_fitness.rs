//! The check whether a node looks fit for IPUs: IPUoF registers memory with an RDMA device.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use ipuof::variables::CONFIG_PATH;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

use crate::task::Task;
use vipu_types::Preflight;

/// The memory that a task has to be able to lock, in bytes. Programs register whole data buffers; the default
/// on a login host is a few MiB.
const ENOUGH: u64 = 1 << 30;

/// The directory in which the kernel lists RDMA devices.
const DEVICES: &str = "/sys/class/infiniband";

/// The variable in which Slurm's commands put the limit that a task gets in place of slurmd's.
const PROPAGATED: &str = "SLURM_RLIMIT_MEMLOCK";

/// The facts about a node and a task on it that matter.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// The memory that slurmd's own limit lets a task lock, in bytes: the soft and the hard limit.
    own: (u64, u64),
    /// The limit from the command that started the task, which replaces slurmd's soft limit.
    propagated: Option<u64>,
    /// Whether there is an RDMA device.
    has_rdma: bool,
    /// Whether the task's IPUs are reached over RDMA.
    wants_rdma: bool,
}

/// The reasons why a task's IPUs may be out of reach from this node, in one line.
pub(crate) fn warning(task: &impl Task, preflight: Preflight) -> Option<String> {
    if preflight == Preflight::Off {
        return None;
    }
    let facts = Facts {
        own: getrlimit(Resource::RLIMIT_MEMLOCK).unwrap_or((RLIM_INFINITY, RLIM_INFINITY)),
        propagated: task.get(PROPAGATED).and_then(|text| bytes(&text)),
        has_rdma: fs::read_dir(DEVICES).is_ok_and(|mut devices| devices.next().is_some()),
        // A program that asks the controller learns only then whether it needs RDMA.
        wants_rdma: task.get(CONFIG_PATH).is_none_or(|file| names_rdma(Path::new(&file))),
    };
    facts.warning(preflight)
}

fn names_rdma(file: &Path) -> bool {
    fs::read(file).is_ok_and(|json| ipuof::uses_rdma(&json))
}

/// Reads a limit as Slurm writes it: behind a `U` if the user asked for it.
fn bytes(text: &OsStr) -> Option<u64> {
    let text = text.to_str()?;
    text.strip_prefix('U').unwrap_or(text).parse().ok()
}

impl Facts {
    fn warning(&self, preflight: Preflight) -> Option<String> {
        // A node without a device is taken for one that needs no RDMA, and therefore no locked memory.
        if !self.wants_rdma || (!self.has_rdma && preflight == Preflight::Usual) {
            return None;
        }
        let device = (!self.has_rdma).then(|| format!("the node has no RDMA device (none in {DEVICES})"));
        let found: Vec<_> = [self.memlock(), device].into_iter().flatten().collect();
        (!found.is_empty()).then(|| format!("the IPUs may be out of reach: {}", found.join("; ")))
    }

    fn memlock(&self) -> Option<String> {
        let (own, most) = self.own;
        let limit = self.propagated.map_or(own, |bytes| bytes.min(most));
        let advice = match self.propagated {
            Some(_) if own >= ENOUGH => ", as on the host of submission: the administrator should set",
            _ => ": the administrator should set LimitMEMLOCK=infinity in slurmd's unit and",
        };
        (limit < ENOUGH).then(|| {
            format!(
                "tasks may lock {} KiB of memory only{advice} PropagateResourceLimitsExcept=MEMLOCK in slurm.conf",
                limit >> 10
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIT: Facts =
        Facts { own: (RLIM_INFINITY, RLIM_INFINITY), propagated: None, has_rdma: true, wants_rdma: true };
    const ALL: [Preflight; 3] = [Preflight::Usual, Preflight::Warn, Preflight::Fail];

    #[test]
    fn a_fit_node_is_not_mentioned() {
        for facts in [
            FIT,
            Facts { own: (ENOUGH, ENOUGH), ..FIT },
            Facts { own: (0, RLIM_INFINITY), propagated: Some(RLIM_INFINITY), ..FIT },
            Facts { own: (0, 0), has_rdma: false, wants_rdma: false, ..FIT },
        ] {
            for preflight in ALL {
                assert_eq!(facts.warning(preflight), None, "{facts:?}");
            }
        }
    }

    #[test]
    fn a_small_limit_is_told_with_its_origin() {
        let small = 8 << 20;
        for (facts, cause) in [
            (Facts { propagated: Some(small), ..FIT }, "host of submission"),
            (Facts { own: (small, RLIM_INFINITY), ..FIT }, "slurmd's unit"),
            (Facts { own: (small, small), propagated: Some(RLIM_INFINITY), ..FIT }, "slurmd's unit"),
        ] {
            for preflight in ALL {
                let line = facts.warning(preflight).unwrap();
                for part in ["8192 KiB", cause, "PropagateResourceLimitsExcept=MEMLOCK"] {
                    assert!(line.contains(part) && !line.contains('\n'), "{part}: {line}");
                }
            }
        }
    }

    #[test]
    fn a_node_without_rdma_is_mentioned_only_with_warn_or_fail() {
        let without = Facts { own: (0, 0), has_rdma: false, ..FIT };
        assert_eq!(without.warning(Preflight::Usual), None);
        for preflight in [Preflight::Warn, Preflight::Fail] {
            let line = without.warning(preflight).unwrap();
            assert!(line.contains("no RDMA device") && line.contains("0 KiB"), "{line}");
        }
    }

    #[test]
    fn limits_are_read_as_slurm_writes_them() {
        let read = |text: &str| bytes(OsStr::new(text));
        assert_eq!((read("8388608"), read("U64"), read("x")), (Some(8 << 20), Some(64), None));
        assert_eq!(read("18446744073709551615"), Some(RLIM_INFINITY));
    }
}
