//! The names of the files.

/// The whole document, in StateSaveLocation.
pub const WHOLE: &str = "vipu_status.json";

/// The document for all users, in StatusDir. Clusters may share that directory.
pub fn public(cluster: &str) -> String {
    format!("{PUBLIC}{}{END}", safe(cluster))
}

/// Whether this is the name of a [`public`] document, of any cluster.
pub fn is_public(name: &str) -> bool {
    name.len() > PUBLIC.len() + END.len() && name.starts_with(PUBLIC) && name.ends_with(END)
}

/// The file with the jobs of one user ([`crate::OwnJobs`]), beside a document that hides owners.
pub fn own_jobs(cluster: &str, user: u32) -> String {
    format!("{OWN}{}.{user}{END}", safe(cluster))
}

/// The user of a file named by [`own_jobs`] for this cluster.
pub fn user_of(name: &str, cluster: &str) -> Option<u32> {
    let user = name.strip_prefix(OWN)?.strip_prefix(&safe(cluster))?.strip_prefix('.')?;
    user.strip_suffix(END)?.parse().ok()
}

/// The directory in which users of an earlier version made requests, beside the document for all users.
pub fn requests(cluster: &str) -> String {
    format!("{REQUESTS}{}", safe(cluster))
}

const PUBLIC: &str = "vipu_status.";
const OWN: &str = "vipu_own_jobs.";
const REQUESTS: &str = "vipu_requests.";
const END: &str = ".json";

/// The name of a cluster as a part of a file name.
fn safe(cluster: &str) -> String {
    let is_safe = |letter: char| letter.is_alphanumeric() || ['-', '_'].contains(&letter);
    cluster.chars().map(|letter| if is_safe(letter) { letter } else { '_' }).collect()
}
