//! The bundle of a container: where it is, and its config.json.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

use crate::config;
use crate::ipus::Ipus;

/// The reason why a container cannot get its IPUs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("cannot read {}: {}; --bundle of the runtime must name the folder of config.json", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    #[error("{} is no configuration of an OCI container: {}", .0.display(), .1)]
    BadJson(PathBuf, serde_json::Error),
    #[error("{} is no configuration of an OCI container: {} is {}", .0.display(), .1, .2)]
    Misshapen(PathBuf, &'static str, &'static str),
    #[error("cannot write {}: {}", .0.display(), .1)]
    Unwritable(PathBuf, io::Error),
}

/// The folder that the arguments of runc, crun and others name. Without one, runtimes take the working directory.
pub(crate) fn of_arguments(arguments: &[OsString]) -> PathBuf {
    let after = |argument: &OsStr, option: &[u8]| {
        argument.as_bytes().strip_prefix(option).map(|rest| PathBuf::from(OsStr::from_bytes(rest)))
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--bundle" || word == "-b" {
            return words.next().map(PathBuf::from).unwrap_or_default();
        }
        if let Some(folder) = after(word, b"--bundle=").or_else(|| after(word, b"-b=")) {
            return folder;
        }
    }
    ".".into()
}

/// Gives the container of this bundle the IPUs. May be repeated.
pub(crate) fn give(bundle: &Path, ipus: &Ipus) -> Result<(), Failure> {
    let path = bundle.join("config.json");
    let text = fs::read(&path).map_err(|why| Failure::Unreadable(path.clone(), why))?;
    let mut config: Value =
        serde_json::from_slice(&text).map_err(|why| Failure::BadJson(path.clone(), why))?;
    config::give(&mut config, ipus)
        .map_err(|wrong| Failure::Misshapen(path.clone(), wrong.member, wrong.why))?;
    // The folder that Slurm makes for a step belongs to the user, and the file in it to root.
    let new = bundle.join("config.json.new");
    let written = fs::write(&new, config.to_string()).and_then(|()| fs::rename(&new, &path));
    written.map_err(|why| Failure::Unwritable(path, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_container_bundle_of_the_runtimes_arguments() {
        let folder = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            of_arguments(&words).display().to_string()
        };
        assert_eq!(folder("run --bundle=/a/b c"), "/a/b");
        assert_eq!(folder("--root /r run --bundle /a/b c"), "/a/b");
        assert_eq!(folder("create -b /a c"), "/a");
        assert_eq!(folder("run c"), ".");
    }

    #[test]
    fn user_container_without_a_configuration_fails_with_the_path() {
        let bundle = tempfile::tempdir().unwrap();
        let ipus = Ipus { variables: [].into(), directory: None, rdma: Vec::new() };
        let refused = |text: Option<&str>| {
            if let Some(text) = text {
                fs::write(bundle.path().join("config.json"), text).unwrap();
            }
            let text = give(bundle.path(), &ipus).unwrap_err().to_string();
            text.replace(bundle.path().to_str().unwrap(), "BUNDLE")
        };
        let texts =
            [refused(None), refused(Some("{")), refused(Some("[]")), refused(Some(r#"{"mounts": 3}"#))];
        insta::assert_snapshot!(texts.join("\n"));
    }
}
