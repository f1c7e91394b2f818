//! The entries of `spank_job_env`, from which Slurm makes the variables of Prolog and Epilog. The client writes the
//! list, and Slurm takes any.

use std::collections::HashSet;

/// The beginning of all names that Prolog and Epilog see. SPANK and `spank_job_control_setenv` make names without it.
/// `valid_spank_job_env` puts it before these, in slurmd and in slurmctld. An entry of either form is the same variable.
pub(super) const PREFIX: &str = "SPANK_";

/// The longest name in an entry of which `env_array_merge` makes a variable, in bytes.
const LONGEST_NAME: usize = 255;

/// The longest value in such an entry, in bytes.
const LONGEST_VALUE: usize = 256 * 1024 - 1;

/// The entry without `SPANK_`: it begins with the name that was given to SPANK.
pub(super) fn bare(entry: &[u8]) -> &[u8] {
    entry.strip_prefix(PREFIX.as_bytes()).unwrap_or(entry)
}

/// Says of each entry whether it goes. These go:
///
/// * variables whose names begin with `forged`, which only slurmctld may set;
/// * entries from which Slurm makes no variable, and all but the last entry for a variable. Scripts see no difference.
///   But before PrologSlurmctld and EpilogSlurmctld, `job_common_env_vars` makes an array of the variables, and
///   `valid_spank_job_env` then changes as many elements of it as the list has entries (22.05 to 26.05). With fewer
///   variables than entries, slurmctld would write behind the array.
pub(crate) fn unwanted(entries: &[Option<&[u8]>], forged: &str) -> Vec<bool> {
    let mut later = HashSet::new();
    let is_wanted = |name: &[u8]| !name.starts_with(forged.as_bytes());
    let mut unwanted: Vec<_> = entries
        .iter()
        .rev()
        .map(|entry| !entry.and_then(name).is_some_and(|name| is_wanted(name) && later.insert(name)))
        .collect();
    unwanted.reverse();
    unwanted
}

/// The name without `SPANK_`. None if Slurm makes no variable of the entry.
fn name(entry: &[u8]) -> Option<&[u8]> {
    let equals = entry.iter().position(|byte| *byte == b'=')?;
    let is_taken = equals <= LONGEST_NAME && entry.len() - equals - 1 <= LONGEST_VALUE;
    is_taken.then(|| bare(&entry[..equals]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left<'a>(entries: &[&'a str]) -> Vec<&'a str> {
        let given: Vec<_> = entries.iter().map(|entry| Some(entry.as_bytes())).collect();
        let unwanted = unwanted(&given, "SLURM_VIPU_");
        entries.iter().zip(unwanted).filter_map(|(entry, goes)| (!goes).then_some(*entry)).collect()
    }

    #[test]
    fn user_forged_names_go_in_both_forms() {
        let forged = ["SLURM_VIPU_PARTITION=slurm_41", "SPANK_SLURM_VIPU_IPUS=64", "SLURM_VIPU_=", "OWN=1"];
        assert_eq!(left(&forged), ["OWN=1"]);
        let others =
            ["SPANK_SPANK_SLURM_VIPU_IPUS=1", "slurm_vipu_ipus=1", "MY_SLURM_VIPU_=1", "SLURM_VIPUS=1"];
        assert_eq!(left(&others), others);
    }

    #[test]
    fn user_scripts_see_the_last_entry_of_a_name() {
        let twice = ["A=1", "SPANK_B=1", "A=2", "B=2", "AB=1", "SPANK_A=3=3"];
        assert_eq!(left(&twice), ["B=2", "AB=1", "SPANK_A=3=3"]);
    }

    #[test]
    fn user_entries_without_a_variable_go() {
        let option = "_SLURM_SPANK_OPTION_pyxis_container_image=a=b";
        assert_eq!(left(&["", "A", option, "SPANK_", "=1", "A="]), [option, "=1", "A="]);
        assert_eq!(
            unwanted(&[None, Some(b"A=1"), None, Some(b"\xff=1"), Some(b"\xfe=1")], "B"),
            [true, false, true, false, false]
        );
        for (name, value, goes) in [
            (LONGEST_NAME, 0, false),
            (LONGEST_NAME + 1, 0, true),
            (1, LONGEST_VALUE, false),
            (1, LONGEST_VALUE + 1, true),
        ] {
            let entry = format!("{}={}", "n".repeat(name), "v".repeat(value));
            assert_eq!(unwanted(&[Some(entry.as_bytes())], "B"), [goes], "{name} {value}");
        }
    }
}
