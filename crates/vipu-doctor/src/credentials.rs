//! The files with keys and certificates.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::path::PathBuf;

use vipu_types::{Words, words};
use x509_parser::pem::Pem;

use crate::finding::Finding;
use crate::host::{self, Host, OwnerAndMode, Unseen, unless_denied};
use crate::models::{ModelFile, settings};
use crate::slurm_conf::Slurm;

const DAY: i64 = 24 * 60 * 60;

/// The days before the end of a certificate from which it is worth a line.
const SOON: i64 = 30;

/// A file that only its owner may open.
pub(crate) struct SecretFile {
    /// The key that names it.
    key: &'static str,
    /// Its path.
    pub(crate) path: PathBuf,
    /// Its owner and mode, or why it cannot be used.
    facts: OwnerAndMode,
    /// Whether this process can read it.
    pub(crate) is_readable: bool,
}

/// A file with certificates.
pub(crate) struct Certificate {
    /// The key that names it.
    key: &'static str,
    /// Its path.
    pub(crate) path: PathBuf,
    /// The first and the last time of its shortest certificate, or why it cannot be used.
    pub(crate) valid: Result<(i64, i64), Words>,
}

impl SecretFile {
    /// Whether it is there, and closed to group and others. Nobody uses it otherwise.
    pub(crate) fn is_usable(&self) -> bool {
        self.facts.as_ref().is_ok_and(|(_, mode)| mode & 0o077 == 0)
    }
}

/// The files that keys name, each once.
fn sorted<'a>(
    named: impl Iterator<Item = (&'static str, &'a Option<PathBuf>)>,
) -> BTreeSet<(&'static str, PathBuf)> {
    named.filter_map(|(key, path)| Some((key, path.clone()?))).collect()
}

/// The files with keys that the models name.
pub(crate) fn secrets(host: &Host<'_>, models: &[ModelFile], unseen: &mut Unseen) -> Vec<SecretFile> {
    let named = settings(models)
        .flat_map(|(_, own)| [("ApiTlsKey", &own.api_tls_key), ("ApiAccessFile", &own.api_access_file)]);
    let mut file = |(key, path): (&'static str, PathBuf)| {
        let facts = host.owner_and_mode(&path, Metadata::is_file, "it is no regular file", unseen)?;
        let is_readable = File::open(host.at(&path)).is_ok();
        Some(SecretFile { key, path, facts, is_readable })
    };
    sorted(named).into_iter().filter_map(&mut file).collect()
}

/// The certificates that the models name.
pub(crate) fn certificates(host: &Host<'_>, models: &[ModelFile], unseen: &mut Unseen) -> Vec<Certificate> {
    let named = settings(models)
        .flat_map(|(_, own)| [("ApiTlsCa", &own.api_tls_ca), ("ApiTlsCert", &own.api_tls_cert)]);
    let mut file = |(key, path): (&'static str, PathBuf)| {
        let text = unless_denied(&path, host::read(&host.at(&path)), unseen)?;
        let valid = text.map_err(Words::of).and_then(|text| validity(&text));
        Some(Certificate { key, path, valid })
    };
    sorted(named).into_iter().filter_map(&mut file).collect()
}

/// The time for which all certificates of a PEM text are valid.
fn validity(text: &[u8]) -> Result<(i64, i64), Words> {
    let mut valid: Option<(i64, i64)> = None;
    for pem in Pem::iter_from_buffer(text) {
        let pem = pem.map_err(|why| words!("it is no PEM file: {why}"))?;
        if pem.label != "CERTIFICATE" {
            continue;
        }
        let certificate = pem.parse_x509().map_err(|why| words!("a certificate in it is broken: {why}"))?;
        let own = certificate.validity();
        let (from, until) = (own.not_before.timestamp(), own.not_after.timestamp());
        valid = Some(valid.map_or((from, until), |(begin, end)| (begin.max(from), end.min(until))));
    }
    valid.ok_or("no certificate (PEM) is in it".into())
}

/// Only the user who reads a file with keys can open it: SlurmUser on a slurmctld host, root on a node.
pub(crate) fn permissions(slurm: &Slurm, secrets: &[SecretFile]) -> Vec<Finding> {
    secrets.iter().filter_map(|file| of_secret(slurm, file)).collect()
}

fn of_secret(slurm: &Slurm, file: &SecretFile) -> Option<Finding> {
    let path = file.path.display().to_string();
    let (owner, mode) = match &file.facts {
        Ok(facts) => *facts,
        Err(why) => {
            let what = format!("cannot use this file ({}): {why}", file.key);
            return Some(Finding::error(&path, what, format!("mend {} or the file", file.key)));
        }
    };
    if mode & 0o077 != 0 {
        let what =
            format!("group or others may open it (mode {mode:04o}), so that it is not used ({})", file.key);
        return Some(Finding::error(&path, what, format!("chmod 600 {path}")));
    }
    let (wanted, name) = match slurm.is_controller_host {
        true => (slurm.user?, "SlurmUser"),
        false => (0, "root"),
    };
    let what = format!("it belongs to user {owner}, so that {name} cannot read it ({})", file.key);
    let root_reads_all = wanted == 0 && slurm.is_controller_host;
    (owner != wanted && !root_reads_all)
        .then(|| Finding::error(&path, what, format!("chown {wanted} {path}")))
}

/// No certificate has expired or is about to.
pub(crate) fn are_valid(certificates: &[Certificate], now: i64) -> Vec<Finding> {
    certificates.iter().filter_map(|file| of_certificate(file, now)).collect()
}

fn of_certificate(file: &Certificate, now: i64) -> Option<Finding> {
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
