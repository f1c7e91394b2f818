//! The files with keys.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{ModelFile, Unseen};
use crate::host::Host;

/// A file that only its owner may open.
pub(crate) struct SecretFile {
    /// The key that names it.
    pub(crate) key: &'static str,
    /// Its path.
    pub(crate) path: PathBuf,
    /// Its owner and mode, or why it cannot be used.
    pub(crate) facts: Result<(u32, u32), String>,
    /// Whether this process can read it.
    pub(crate) is_readable: bool,
}

impl SecretFile {
    /// Whether it is there, and closed to group and others. Nobody uses it otherwise.
    pub(crate) fn is_usable(&self) -> bool {
        self.facts.as_ref().is_ok_and(|(_, mode)| mode & 0o077 == 0)
    }
}

/// The files with keys that the models name.
pub(super) fn secrets(host: &Host<'_>, models: &[ModelFile], unseen: &mut Unseen) -> Vec<SecretFile> {
    let settings = models.iter().filter_map(|model| model.settings.as_ref().ok());
    let named = settings.flat_map(|own| {
        [("ApiTlsKey", own.api_tls_key.clone()), ("ApiAccessFile", own.api_access_file.clone())]
    });
    let mut files: Vec<(&str, PathBuf)> = named.filter_map(|(key, path)| Some((key, path?))).collect();
    files.sort();
    files.dedup();
    files.into_iter().filter_map(|(key, path)| secret(host, key, &path, unseen)).collect()
}

fn secret(host: &Host<'_>, key: &'static str, path: &Path, unseen: &mut Unseen) -> Option<SecretFile> {
    let place = host.at(path);
    let facts = match place.metadata() {
        Ok(facts) if facts.is_file() => Ok((facts.uid(), facts.mode() & 0o7777)),
        Ok(_) => Err("it is no regular file".to_owned()),
        Err(why) if why.kind() == std::io::ErrorKind::PermissionDenied => {
            unseen.push((path.display().to_string(), why.to_string()));
            return None;
        }
        Err(why) => Err(why.to_string()),
    };
    let is_readable = std::fs::File::open(&place).is_ok();
    Some(SecretFile { key, path: path.to_owned(), facts, is_readable })
}
