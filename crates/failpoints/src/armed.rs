//! The places of a test build.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs, thread};

/// The environment variable with the folder for the files of all places.
pub const VARIABLE: &str = "VIPU_FAILPOINTS";

/// The beginning of a text that stays in force after it was used.
const ALWAYS: &str = "always";

/// The time between two looks for the file of a place.
const POLL: Duration = Duration::from_millis(5);

/// Stops the thread here if a test has made a file for this place.
///
/// # Panics
/// A test asks for a panic.
pub fn stop(place: &str) {
    if let Some(stopped) = Stopped::at(folder(), place) {
        while stopped.is_wanted() {
            thread::sleep(POLL);
        }
    }
}

/// Stops the async task here if a test has made a file for this place.
///
/// # Panics
/// A test asks for a panic.
pub async fn hold(place: &str) {
    if let Some(stopped) = Stopped::at(folder(), place) {
        while stopped.is_wanted() {
            tokio::time::sleep(POLL).await;
        }
    }
}

fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(|| env::var_os(VARIABLE).map(PathBuf::from)).as_deref()
}

/// A thread or task that has to stay at its place.
struct Stopped(PathBuf);

impl Stopped {
    fn at(folder: Option<&Path>, place: &str) -> Option<Self> {
        let wanted = folder?.join(place);
        let words = fs::read_to_string(&wanted).ok()?;
        if !words.is_empty() {
            // The file is taken away before the panic, because work after the panic may come to this place
            // again.
            if !words.starts_with(ALWAYS) {
                let _ = fs::remove_file(&wanted);
            }
            panic!("{words}");
        }
        // Without a file that a test can remove, the stop would never end. The place is passed.
        fs::write(folder?.join(format!("{place}.reached")), "").ok()?;
        Some(Self(wanted))
    }

    fn is_wanted(&self) -> bool {
        self.0.exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_stops_while_its_file_is_there() {
        let folder = env::temp_dir().join(format!("failpoints-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        assert!(Stopped::at(None, "begin").is_none());
        assert!(Stopped::at(Some(&folder), "begin").is_none());
        fs::write(folder.join("begin"), "").unwrap();
        assert!(Stopped::at(Some(&folder), "fini").is_none());
        let stopped = Stopped::at(Some(&folder), "begin").unwrap();
        assert!(stopped.is_wanted() && folder.join("begin.reached").exists());
        fs::remove_file(folder.join("begin")).unwrap();
        assert!(!stopped.is_wanted());
        fs::write(folder.join("begin"), "as asked").unwrap();
        let panic = std::panic::catch_unwind(|| Stopped::at(Some(&folder), "begin").is_none()).unwrap_err();
        assert_eq!(panic.downcast_ref::<String>().unwrap(), "as asked");
        assert!(Stopped::at(Some(&folder), "begin").is_none());
        fs::remove_dir_all(folder).unwrap();
    }
}
