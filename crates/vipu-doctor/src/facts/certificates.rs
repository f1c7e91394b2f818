//! The certificates of this side.

use std::path::PathBuf;

use x509_parser::pem::Pem;

use super::{ModelFile, Unseen};
use crate::host::{self, Host};

/// A file with certificates.
pub(crate) struct Certificate {
    /// The key that names it.
    pub(crate) key: &'static str,
    /// Its path.
    pub(crate) path: PathBuf,
    /// The first and the last time of its shortest certificate, or why it cannot be used.
    pub(crate) valid: Result<(i64, i64), String>,
}

/// The certificates that the models name.
pub(super) fn read(host: &Host<'_>, models: &[ModelFile], unseen: &mut Unseen) -> Vec<Certificate> {
    let settings = models.iter().filter_map(|model| model.settings.as_ref().ok());
    let named = settings
        .flat_map(|own| [("ApiTlsCa", own.api_tls_ca.clone()), ("ApiTlsCert", own.api_tls_cert.clone())]);
    let mut files: Vec<(&str, PathBuf)> = named.filter_map(|(key, path)| Some((key, path?))).collect();
    files.sort();
    files.dedup();
    let mut found = Vec::new();
    for (key, path) in files {
        let valid = match host::read(&host.at(&path)) {
            Ok(text) => validity(&text),
            Err(why) if why.kind() == std::io::ErrorKind::PermissionDenied => {
                unseen.push((path.display().to_string(), why.to_string()));
                continue;
            }
            Err(why) => Err(why.to_string()),
        };
        found.push(Certificate { key, path, valid });
    }
    found
}

/// The time for which all certificates of a PEM text are valid.
fn validity(text: &[u8]) -> Result<(i64, i64), String> {
    let mut valid: Option<(i64, i64)> = None;
    for pem in Pem::iter_from_buffer(text) {
        let pem = pem.map_err(|why| format!("it is no PEM file: {why}"))?;
        if pem.label != "CERTIFICATE" {
            continue;
        }
        let certificate = pem.parse_x509().map_err(|why| format!("a certificate in it is broken: {why}"))?;
        let own = certificate.validity();
        let (from, until) = (own.not_before.timestamp(), own.not_after.timestamp());
        valid = Some(valid.map_or((from, until), |(begin, end)| (begin.max(from), end.min(until))));
    }
    valid.ok_or_else(|| "no certificate (PEM) is in it".to_owned())
}
