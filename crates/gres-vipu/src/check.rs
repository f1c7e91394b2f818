//! Checks a node's GRES, from Slurm's records and the files beside slurm.conf.

use std::path::Path;

use slurm_host::slurmd_gres::Record;
use vipu_conf::{LoadError, Reason};
use vipu_types::{GresType, IpuCount, NotASize, OfferedModels};

/// Returns the faults, each in one line with advice. `folder` is that of slurm.conf, if Slurm named it.
///
/// A node needs no vipu.conf. slurmctld reads that file too, and reports the errors in it.
pub(crate) fn faults(offers: &[Record], folder: Option<&Path>) -> Vec<String> {
    offers.iter().flat_map(|offer| of_record(offer).or_else(|| of_files(offer, folder?))).collect()
}

/// The line for administrators about a good configuration: `vipu:pod64:64`.
pub(crate) fn in_words(offers: &[Record]) -> String {
    if offers.is_empty() {
        return "no IPUs".into();
    }
    offers.iter().map(element).collect::<Vec<_>>().join(",")
}

/// The record in the form of `Gres=`, without flags.
fn element(offer: &Record) -> String {
    let model = offer.kind.iter().map(|model| format!("{model}:"));
    format!("vipu:{}{}", model.collect::<String>(), offer.count)
}

fn of_record(offer: &Record) -> Option<String> {
    let (shown, count) = (element(offer), offer.count);
    if let Some(file) = &offer.file {
        return Some(format!(
            "gres.conf has File={file} for {shown}: IPUs are no devices of a node; remove the line from gres.conf, none is needed"
        ));
    }
    let Some(model) = &offer.kind else {
        return Some(format!(
            "Gres={shown} of this node in slurm.conf has no model, and no job gets its IPUs; write \
             Gres=vipu:<model>:no_consume:{count}"
        ));
    };
    let of = match GresType::new(model) {
        Ok(of) => of,
        Err(why) => {
            return Some(format!(
                "Gres={shown} of this node in slurm.conf: {why}; write Gres=vipu:<model>:no_consume:{count}"
            ));
        }
    };
    let (ipus, unknown) = match of {
        GresType::Model(_) => (count, format!("{model}:no_consume:<IPUs of the Pod>")),
        GresType::Size(ipus) => (ipus, format!("<IPUs of a partition>:no_consume:{count}")),
    };
    let with = |ipus: u64| match of {
        GresType::Model(_) => format!("{model}:no_consume:{ipus}"),
        GresType::Size(_) => format!("{ipus}:no_consume:{count}"),
    };
    let size = IpuCount::new(ipus).err()?;
    let valid = match size {
        NotASize::NotPowerOfTwo { below, above, .. } => {
            format!("{} or Gres=vipu:{}", with(below), with(above))
        }
        NotASize::Zero | NotASize::TooLarge(_) => unknown,
    };
    Some(format!("Gres={shown} of this node in slurm.conf: {}; write Gres=vipu:{valid}", no_pod(&size)))
}

/// The fault of a count that no Pod has.
fn no_pod(size: &NotASize) -> String {
    match size {
        NotASize::Zero => "a Pod has at least 1 IPU".into(),
        other => other.to_string(),
    }
}

/// The fault of a model whose file is a dangling link, or lacks the pool of the sizes that the node offers.
fn of_files(offer: &Record, folder: &Path) -> Option<String> {
    let mut offered = OfferedModels::default();
    offered.add(&format!("{}:{}", offer.kind.as_ref()?, offer.count)).ok()?;
    let (_, read) = vipu_conf::load_offered(folder, &offered).pop_first()?;
    match read.err()? {
        why @ LoadError::DanglingLink { .. } => {
            Some(format!("Gres={}: {why}; create that file, or remove the link", element(offer)))
        }
        LoadError::Broken(why) if why.problems.iter().any(|it| it.reason == Reason::SizesWithoutPool) => {
            Some(format!("Gres={}: {}", element(offer), why.one_line()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn offer(kind: &str, count: u64) -> Record {
        Record { kind: (!kind.is_empty()).then(|| kind.into()), count, file: None }
    }

    #[test]
    fn a_good_configuration_has_no_fault() {
        let offers = [offer("pod64", 64), offer("pod16", 16)];
        assert_eq!(faults(&offers, None), [""; 0]);
        assert_eq!(in_words(&offers), "vipu:pod64:64,vipu:pod16:16");
        assert_eq!((faults(&[], None).len(), in_words(&[])), (0, "no IPUs".into()));
    }

    #[test]
    fn each_fault_names_the_text_to_write() {
        for (offer, parts) in [
            (
                offer("", 64),
                [
                    "Gres=vipu:64 of this node in slurm.conf has no model",
                    "write Gres=vipu:<model>:no_consume:64",
                ],
            ),
            (offer("pod/64", 64), ["'pod/64'", "write Gres=vipu:<model>:no_consume:64"]),
            (
                offer("pod64", 48),
                [
                    "48 IPUs is not a power of two",
                    "vipu:pod64:no_consume:32 or Gres=vipu:pod64:no_consume:64",
                ],
            ),
            (
                offer("pod64", 0),
                ["a Pod has at least 1 IPU", "write Gres=vipu:pod64:no_consume:<IPUs of the Pod>"],
            ),
            (offer("pod64", 1 << 40), ["is more than any system has", "<IPUs of the Pod>"]),
            (
                Record { file: Some("/dev/ipu0".into()), ..offer("pod64", 64) },
                ["File=/dev/ipu0 for vipu:pod64:64", "remove the line from gres.conf"],
            ),
        ] {
            let told = faults(std::slice::from_ref(&offer), None);
            let [fault] = &told[..] else { panic!("{offer:?}: {told:?}") };
            assert!(parts.iter().all(|part| fault.contains(part)), "{fault}");
        }
    }

    #[test]
    fn a_number_is_a_size_and_any_count_of_it_is_good() {
        assert_eq!(faults(&[offer("16", 3), offer("4", 8)], None), [""; 0]);
        let told = faults(&[offer("12", 4)], None);
        assert!(told[0].ends_with("write Gres=vipu:8:no_consume:4 or Gres=vipu:16:no_consume:4"), "{told:?}");
        let folder = tempfile::tempdir().unwrap();
        let with_file = |text: &str| {
            std::fs::write(folder.path().join("vipu.conf"), text).unwrap();
            faults(&[offer("16", 4)], Some(folder.path()))
        };
        assert_eq!(with_file("ApiHost=x IpuofDir=/x Mode=pool Pool=16x4"), [""; 0]);
        assert_eq!(with_file("broken"), [""; 0], "slurmctld tells other errors");
        let told = with_file("ApiHost=x IpuofDir=/x");
        assert!(
            told[0].starts_with("Gres=vipu:16:4: vipu.conf: nodes offer partitions by their size"),
            "{told:?}"
        );
    }

    #[test]
    fn only_the_record_that_is_wrong_is_told() {
        let told = faults(&[offer("pod64", 64), offer("pod16", 15)], None);
        assert!(matches!(&told[..], [fault] if fault.contains("vipu:pod16:15")), "{told:?}");
    }

    #[test]
    fn a_link_that_leads_nowhere_is_a_fault_and_no_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let offers = [offer("pod64", 64)];
        assert_eq!(faults(&offers, Some(folder.path())), [""; 0]);
        symlink("vipu.conf", folder.path().join("pod64.conf")).unwrap();
        let told = faults(&offers, Some(folder.path()));
        assert!(
            matches!(&told[..], [fault] if fault.contains("which does not exist; create that file")),
            "{told:?}"
        );
    }
}
