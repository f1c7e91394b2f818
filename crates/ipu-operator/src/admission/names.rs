//! Names of jobs. The names of Pods add to them, and Pods are hosts for MPI.

use super::Verdict;

/// Most characters of a job's name. A Pod's name is its host name, which has 63 at most, and the longest
/// addition is `-launcher-` with a number.
pub const LONGEST_NAME: usize = 50;

/// The number of characters that the API server adds to `generateName`.
const GENERATED: usize = 5;

/// Checks the name of a new job, or the beginning from which the API server makes one.
pub(super) fn check(name: Option<&str>, generate_name: Option<&str>, has_hosts: bool, verdict: &mut Verdict) {
    let (field, text, most) = match (name, generate_name) {
        (Some(name), _) if !name.is_empty() => ("metadata.name", name, LONGEST_NAME),
        (_, Some(beginning)) => ("metadata.generateName", beginning, LONGEST_NAME - GENERATED),
        _ => return,
    };
    if text.len() > most {
        verdict.refuse(
            field,
            format_args!(
                "it has {} characters, and may have {most}, as the names of its Pods add to it",
                text.len()
            ),
        );
    }
    if has_hosts && text.contains('.') {
        let instead = text.replace('.', "-");
        verdict.refuse(
            field,
            format_args!(
                "Pods of a launcher are hosts of MPI, which cuts their names at a dot; write {instead}"
            ),
        );
    }
}
