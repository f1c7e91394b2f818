//! The certificates of this side.

use crate::facts::{Certificate, Facts};
use crate::finding::Finding;

const DAY: i64 = 24 * 60 * 60;

/// The days before the end of a certificate from which it is worth a line.
const SOON: i64 = 30;

/// No certificate has expired or is about to.
pub(super) fn validity(facts: &Facts) -> Vec<Finding> {
    facts.certificates.iter().filter_map(|file| of_file(file, facts.now)).collect()
}

fn of_file(file: &Certificate, now: i64) -> Option<Finding> {
    let (path, key) = (file.path.display().to_string(), file.key);
    let renew = "renew it; slurmctld reads the new file by itself";
    match &file.valid {
        Err(why) => Some(Finding::error(path, format!("{why} ({key})"), format!("mend {key} or the file"))),
        Ok((from, _)) if now < *from => {
            let what = format!("it is not valid yet ({key})");
            Some(Finding::error(path, what, "compare the clock of this host with the CA's"))
        }
        Ok((_, until)) if now >= *until => {
            Some(Finding::error(path, format!("it has expired ({key})"), renew))
        }
        Ok((_, until)) if until - now < SOON * DAY => {
            let what = format!("it expires in {} days ({key})", (until - now) / DAY);
            Some(Finding::warning(path, what, renew))
        }
        Ok(_) => None,
    }
}
