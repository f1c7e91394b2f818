//! Files with certificates and secrets. Each file is read anew each time, so that a renewed one counts at
//! once.

use crate::BoundedThreads;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A fault on this side that keeps a call from being made, and what to mend. It is one line, and has no
/// further cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Trouble(pub(crate) String);

impl From<Trouble> for tonic::Status {
    fn from(trouble: Trouble) -> Self {
        Self::from_error(Box::new(trouble))
    }
}

/// A file and its configuration key, as messages name them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) key: &'static str,
    pub(crate) path: &'a Path,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path.display(), self.key)
    }
}

/// A secret. It prints as `[secret]`.
pub(crate) struct Secret(Vec<u8>);

impl Secret {
    /// Returns the secret itself, for the only place that needs it.
    pub(crate) fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl Named<'_> {
    /// Returns the error that `what` is wrong with the file.
    pub(crate) fn trouble(&self, what: impl fmt::Display) -> Trouble {
        Trouble(format!("{self}: {what}"))
    }

    /// Reads a file whose contents are public.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Trouble> {
        self.content(|_| Ok(()))
    }

    /// Reads a file that only its owner may open.
    pub(crate) fn read_secret(&self) -> Result<Secret, Trouble> {
        let private = |file: &File| match file.metadata()?.mode() & 0o7777 {
            mode if mode & 0o077 == 0 => Ok(()),
            mode => Err(io::Error::other(format!(
                "group or others may open it (mode {mode:04o}), so it is not used: chmod 600 {}",
                self.path.display()
            ))),
        };
        self.content(private).map(Secret)
    }

    fn content(&self, allowed: impl Fn(&File) -> io::Result<()>) -> Result<Vec<u8>, Trouble> {
        const LARGEST: u64 = 1 << 20;
        let read = || {
            // Opening a FIFO would wait for ever.
            if !fs::metadata(self.path)?.is_file() {
                return Err(io::Error::other("not a regular file"));
            }
            let file = File::open(self.path)?;
            allowed(&file)?;
            let mut content = Vec::new();
            file.take(LARGEST).read_to_end(&mut content)?;
            Ok(content)
        };
        read().map_err(|error| self.trouble(error))
    }
}

/// Runs `work`, which may wait for a disk, on one of these threads.
pub(crate) async fn off_thread<T: Send + 'static>(
    threads: &BoundedThreads,
    work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
) -> Result<T, Trouble> {
    let done = threads.run(work).await;
    done.unwrap_or_else(|_| Err(Trouble("a file could not be read as this process ends".to_owned())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_read_only_if_its_owner_alone_may_open_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key.pem");
        fs::write(&path, "hidden").unwrap();
        let file = Named { key: "ApiTlsKey", path: &path };
        for (mode, shown) in [(0o640, "0640"), (0o604, "0604"), (0o620, "0620"), (0o677, "0677")] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let (place, words) = (path.display(), "group or others may open it (mode");
            let told = format!("{place} (ApiTlsKey): {words} {shown}), so it is not used: chmod 600 {place}");
            assert_eq!(file.read_secret().unwrap_err().to_string(), told);
        }
        for mode in [0o600, 0o400] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let secret = file.read_secret().unwrap();
            assert_eq!((secret.expose(), format!("{secret:?}").as_str()), (&b"hidden"[..], "[secret]"));
        }
    }

    #[test]
    fn an_unreadable_file_is_named_with_its_key() {
        let dir = tempfile::tempdir().unwrap();
        let told = |path: &Path| Named { key: "ApiTlsCa", path }.read().unwrap_err().to_string();
        assert!(told(dir.path()).ends_with(" (ApiTlsCa): not a regular file"));
        assert!(told(&dir.path().join("none")).contains("none (ApiTlsCa): No such file"));
    }
}
