//! The credentials for a controller in secure mode: user id and access key, sent with every call.

use std::fmt;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap};
use vipu_types::Access;

use crate::BoundedThreads;
use crate::files::{Named, Secret, Trouble, off_thread};

/// The configuration key of the file.
const KEY: &str = "ApiAccessFile";

/// The names in the file, which `vipu-cli.hcl` also has.
const USER_ID: &str = "api-user-id";
const ACCESS_KEY: &str = "api-access-key";

/// How long credentials are used after they were read. New credentials have to be written while the old ones
/// are still good.
const FRESH: Duration = Duration::from_secs(5);

/// The metadata of a call that carries the credentials; empty without credentials.
#[derive(Clone, Default)]
pub(crate) struct Credentials(Vec<(AsciiMetadataKey, AsciiMetadataValue)>);

impl Credentials {
    /// Puts them into the metadata of a call.
    pub(crate) fn sign(self, metadata: &mut MetadataMap) {
        for (key, value) in self.0 {
            metadata.insert(key, value);
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// The credentials as their file has them now.
pub(crate) struct Keyring {
    access: Option<Access>,
    known: Mutex<Option<(Instant, Credentials)>>,
    threads: BoundedThreads,
}

impl Keyring {
    pub(crate) fn new(access: Option<Access>, threads: BoundedThreads) -> Self {
        Self { access, known: Mutex::new(None), threads }
    }

    /// Returns the credentials to send with a call.
    pub(crate) async fn credentials(&self) -> Result<Credentials, Trouble> {
        let Some(access) = &self.access else { return Ok(Credentials::default()) };
        let mut known = self.known.lock().await;
        if let Some((read, credentials)) = &*known
            && read.elapsed() < FRESH
        {
            return Ok(credentials.clone());
        }
        let access = access.clone();
        let credentials = off_thread(&self.threads, move || read(&access)).await?;
        *known = Some((Instant::now(), credentials.clone()));
        Ok(credentials)
    }

    /// Forgets credentials that the controller refused, so that the next call reads them again. Returns what
    /// to mend.
    pub(crate) fn refused(&self) -> String {
        // If the mutex is locked, the credentials are just being read.
        if let Ok(mut known) = self.known.try_lock() {
            *known = None;
        }
        match &self.access {
            Some(Access { file, .. }) => {
                format!("mend the user id or access key in {}", Named { key: KEY, path: file })
            }
            None => format!("the controller is in secure mode: give {KEY}"),
        }
    }
}

fn read(access: &Access) -> Result<Credentials, Trouble> {
    let file = Named { key: KEY, path: &access.file };
    let secret = file.read_secret()?;
    let sent = |metadata: &str, name: &str| {
        let key = AsciiMetadataKey::from_bytes(metadata.as_bytes())
            .map_err(|_| Trouble(format!("'{metadata}' is no key of gRPC metadata")))?;
        let told = value_of(&secret, name)
            .ok_or_else(|| file.trouble(format_args!("no {name} in it: write {name}=...")))?;
        // The error of `try_from` does not hold the value, and ours must not either.
        let mut value = AsciiMetadataValue::try_from(told)
            .map_err(|_| file.trouble(format_args!("{name} has a character that cannot be sent")))?;
        value.set_sensitive(true);
        Ok((key, value))
    };
    let user_id = sent(&access.user_id_metadata, USER_ID)?;
    Ok(Credentials(vec![user_id, sent(&access.access_key_metadata, ACCESS_KEY)?]))
}

/// Returns the value of a line such as `name = "value"`, without quotes and blanks.
fn value_of<'a>(secret: &'a Secret, name: &str) -> Option<&'a [u8]> {
    let value = |line: &'a [u8]| {
        let rest = line.trim_ascii().strip_prefix(name.as_bytes())?.trim_ascii_start();
        let value = rest.strip_prefix(b"=")?.trim_ascii();
        let bare = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        Some(bare.unwrap_or(value)).filter(|value| !value.is_empty())
    };
    secret.expose().split(|byte| *byte == b'\n').find_map(value)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Reads the credentials from a file of this text.
    fn of(text: &str) -> Result<Credentials, Trouble> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        let (user_id_metadata, access_key_metadata) = ("id".to_owned(), "key".to_owned());
        read(&Access { file: file.path().to_owned(), user_id_metadata, access_key_metadata })
    }

    #[test]
    fn credentials_are_read_as_the_controllers_own_tool_writes_them() {
        for text in [
            "api-user-id=slurm\napi-access-key=k=1",
            "# of alice\r\napi-host=\"10.1.3.101\"\r\napi-access-key = \"k=1\"\r\n\tapi-user-id = \"slurm\"\r\n",
        ] {
            let Credentials(sent) = of(text).unwrap();
            let sent: Vec<_> = sent.iter().map(|(key, value)| (key.as_str(), value.as_bytes())).collect();
            assert_eq!(sent, [("id", &b"slurm"[..]), ("key", b"k=1")], "{text}");
        }
    }

    #[test]
    fn an_error_names_the_fault_without_the_secret() {
        for (text, words) in [
            ("api-user-id=u hidden", "no api-access-key in it"),
            ("api-user-id=\"\"\napi-access-key=hidden", "no api-user-id in it"),
            (
                "api-user-id=u\napi-access-key=hid\u{7}den",
                "api-access-key has a character that cannot be sent",
            ),
        ] {
            let told = of(text).unwrap_err().to_string();
            assert!(told.contains(words) && told.contains("(ApiAccessFile)"), "{told}");
            assert!(!told.contains("hid"), "{told}");
        }
        let good = of("api-user-id=hidden\napi-access-key=hidden").unwrap();
        assert_eq!(format!("{good:?}"), "[secret]");
        let mut metadata = MetadataMap::new();
        good.sign(&mut metadata);
        assert!(metadata.len() == 2 && !format!("{metadata:?}").contains("hidden"), "{metadata:?}");
    }
}
