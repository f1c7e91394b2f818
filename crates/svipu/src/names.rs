//! Names of jobs and places.

use vipu_status::{Job, Place};

/// The name of a job as squeue writes it. `-` if the reader may not know the job.
pub(crate) fn job(job: Option<&Job>) -> String {
    match job {
        None => "-".to_owned(),
        Some(Job { component: Some((leader, number)), .. }) => format!("{leader}+{number}"),
        Some(Job { array: Some((array, task)), .. }) => format!("{array}_{task}"),
        Some(job) => job.id.to_string(),
    }
}

/// The name with Slurm's id, if the name is not the id.
pub(crate) fn job_with_id(known: &Job) -> String {
    match job(Some(known)) {
        name if name == known.id.to_string() => name,
        name => format!("{name} (id {})", known.id),
    }
}

/// A number of IPUs in words.
pub(crate) fn ipus(count: u32) -> String {
    if count == 1 { "1 IPU".to_owned() } else { format!("{count} IPUs") }
}

/// A text that may be unknown or empty.
pub(crate) fn or_dash(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned()
}

/// Places as `domain:first-last`.
pub(crate) fn places(places: &[Place]) -> String {
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let follows =
        |one: &Place, next: &Place| one.domain == next.domain && one.index.checked_add(1) == Some(next.index);
    let word = |run: &[Place]| match run {
        [] => String::new(),
        [one] => format!("{}:{}", one.domain, one.index),
        [first, .., last] => format!("{}:{}-{}", first.domain, first.index, last.index),
    };
    let words: Vec<_> = sorted.chunk_by(follows).map(word).collect();
    or_dash(Some(&words.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_svipu_places_are_runs_in_domains() {
        let at = |list: &[(u32, u32)]| {
            places(
                &list
                    .iter()
                    .map(|(domain, index)| Place { domain: *domain, index: *index })
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(at(&[]), "-");
        assert_eq!(at(&[(0, 2), (0, 0), (0, 1), (0, 1), (0, 5)]), "0:0-2,0:5");
        assert_eq!(at(&[(0, 63), (1, 64), (u32::MAX, u32::MAX)]), "0:63,1:64,4294967295:4294967295");
    }
}
