//! The arguments of `spank_ipuof.so`: the words behind its path in `plugstack.conf`.

use std::path::PathBuf;

use crate::Delivery;

/// The arguments that the administrator gave the plugin.
#[derive(Debug, PartialEq, Eq)]
pub struct SpankArguments {
    /// The directory of the config files, or the error in the arguments.
    pub directory: Result<PathBuf, BadSpankArguments>,
    /// The directory of vipu.conf on a node that fetches config files, if it is not that of slurm.conf.
    pub conf_dir: Option<PathBuf>,
    /// The directory in which the node puts the fetched files.
    pub run_dir: PathBuf,
    /// The treatment of a task on a node that does not look fit for IPUs.
    pub preflight: Preflight,
}

/// The treatment of a task on a node that does not look fit for IPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preflight {
    /// The node is not checked.
    Off,
    /// The user is warned if an RDMA node does not look fit. A node without an RDMA device is taken for one
    /// that needs none.
    Usual,
    /// The user is warned.
    Warn,
    /// The task does not start.
    Fail,
}

/// An error in the arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSpankArguments {
    /// `ipuof_dir=` is missing, which matters with `Delivery=file` only.
    #[error("ipuof_dir= is missing: add ipuof_dir=<IpuofDir of vipu.conf>")]
    NoDirectory,
    /// This plugstack.conf has no line of the plugin.
    #[error("{0} does not load it: svipu doctor on the node says which line it needs")]
    NotLoaded(String),
    /// The word has a relative path.
    #[error("{0} is not an absolute path")]
    Relative(String),
    /// The word has no value of `preflight=`.
    #[error("'{0}' is unknown: preflight=off, preflight=warn and preflight=fail are known")]
    UnknownPreflight(String),
    /// The word is none of the plugin's.
    #[error(
        "'{0}' is unknown: ipuof_dir=<path>, conf_dir=<path>, run_dir=<path> and preflight=<off, warn or fail> are known"
    )]
    Unknown(String),
}

impl SpankArguments {
    /// Reads the words. An error goes into `directory`, where it stops only jobs with IPUs.
    pub fn parse<W: AsRef<str>>(words: &[W]) -> Self {
        let mut arguments = Self {
            directory: Err(BadSpankArguments::NoDirectory),
            conf_dir: None,
            run_dir: Delivery::RUN_DIR.into(),
            preflight: Preflight::Usual,
        };
        let taken = words.iter().map(|word| arguments.take(word.as_ref()));
        if let Some(wrong) = taken.filter_map(Result::err).last() {
            arguments.directory = Err(wrong);
        }
        arguments
    }

    fn take(&mut self, word: &str) -> Result<(), BadSpankArguments> {
        let path = |path: &str| match path.starts_with('/') {
            true => Ok(PathBuf::from(path)),
            false => Err(BadSpankArguments::Relative(word.to_owned())),
        };
        match word.split_once('=') {
            Some(("ipuof_dir", text)) => self.directory = Ok(path(text)?),
            // gres_vipu.so gives it in the place of a missing line.
            Some(("missing_in", text)) => return Err(BadSpankArguments::NotLoaded(text.to_owned())),
            Some(("conf_dir", text)) => self.conf_dir = Some(path(text)?),
            Some(("run_dir", text)) => self.run_dir = path(text)?,
            Some(("preflight", text)) => {
                self.preflight = match text {
                    "off" => Preflight::Off,
                    "warn" => Preflight::Warn,
                    "fail" => Preflight::Fail,
                    _ => return Err(BadSpankArguments::UnknownPreflight(word.to_owned())),
                }
            }
            _ => return Err(BadSpankArguments::Unknown(word.to_owned())),
        }
        Ok(())
    }

    /// The error that stops every job with IPUs, whatever its delivery.
    pub fn wrong(&self) -> Option<&BadSpankArguments> {
        self.directory.as_ref().err().filter(|error| **error != BadSpankArguments::NoDirectory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_words_are_taken() {
        let expected = SpankArguments {
            directory: Ok("/shared/ip=uof".into()),
            conf_dir: None,
            run_dir: "/run/slurm-vipu".into(),
            preflight: Preflight::Usual,
        };
        assert_eq!(SpankArguments::parse(&["ipuof_dir=/shared/ip=uof"]), expected);
        let all = ["preflight=fail", "run_dir=/run/x", "conf_dir=/etc/slurm", "ipuof_dir=/y"];
        let expected = SpankArguments {
            directory: Ok("/y".into()),
            conf_dir: Some("/etc/slurm".into()),
            run_dir: "/run/x".into(),
            preflight: Preflight::Fail,
        };
        assert_eq!(SpankArguments::parse(&all), expected);
    }

    #[test]
    fn bad_words_are_named() {
        for (words, part) in [
            (&["ipuof_dir=shared"][..], "ipuof_dir=shared is not an absolute path"),
            (&["ipuof_dir=/x", "ipuof_dir="], "ipuof_dir= is not an absolute path"),
            (&["conf_dir=etc", "ipuof_dir=/x"], "conf_dir=etc is not an absolute path"),
            (&["run_dir=run", "ipuof_dir=/x"], "run_dir=run is not an absolute path"),
            (&["preflight=on", "ipuof_dir=/x"], "'preflight=on' is unknown: preflight=off"),
            (&["ipuof_dir=/x", "prefix=c2"], "'prefix=c2' is unknown"),
            (&["ipuof_dir=/x", "IPUOF_DIR=/y"], "'IPUOF_DIR=/y' is unknown"),
            (&["ipuof_dir=/x", "debug"], "'debug' is unknown"),
            (&["missing_in=/etc/p.conf"], "/etc/p.conf does not load it: svipu doctor on the node"),
        ] {
            let arguments = SpankArguments::parse(words);
            let error = arguments.wrong().unwrap().to_string();
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }

    #[test]
    fn a_missing_directory_is_no_wrong_argument() {
        let arguments = SpankArguments::parse(&["preflight=off"]);
        assert_eq!((arguments.wrong(), &arguments.directory), (None, &Err(BadSpankArguments::NoDirectory)));
        assert!(BadSpankArguments::NoDirectory.to_string().contains("ipuof_dir= is missing"));
    }
}
