//! What the places come to in a test build.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs, thread};

/// The environment variable with the folder of the places.
pub const VARIABLE: &str = "VIPU_FAILPOINTS";

/// What a text begins with that is not taken away.
const ALWAYS: &str = "always";

/// Between two looks for the file of a place.
const POLL: Duration = Duration::from_millis(5);

/// Stops the thread here if a test wants that.
///
/// # Panics
/// If a test wants that.
pub fn stop(place: &str) {
    if let Some(stopped) = Stopped::at(folder(), place) {
        while stopped.is_wanted() {
            thread::sleep(POLL);
        }
    }
}

/// Stops the task here if a test wants that.
///
/// # Panics
/// If a test wants that.
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

/// Somebody who is to stay where he is.
struct Stopped(PathBuf);

impl Stopped {
    fn at(folder: Option<&Path>, place: &str) -> Option<Self> {
        let wanted = folder?.join(place);
        let words = fs::read_to_string(&wanted).ok()?;
        if !words.is_empty() {
            // Once: who is told of the panic may come here again.
            if !words.starts_with(ALWAYS) {
                let _ = fs::remove_file(&wanted);
            }
            panic!("{words}");
        }
        // Without the file nobody would ever end the stop, so it is none.
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
