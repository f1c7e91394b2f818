//! The words behind the plugin's path in `plugstack.conf`.

use std::path::PathBuf;

/// What the administrator told the plugin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// Where the config files are, or what is wrong with the arguments.
    pub(crate) directory: Result<PathBuf, BadArguments>,
}

/// What is wrong with the arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadArguments {
    #[error("ipuof_dir= is missing: add ipuof_dir=<IpuofDir of vipu.conf>")]
    NoDirectory,
    #[error("ipuof_dir={0} is not an absolute path")]
    RelativeDirectory(String),
    #[error("'{0}' is unknown: ipuof_dir=<path> is known")]
    Unknown(String),
}

impl Arguments {
    /// Reads the words. What is wrong with them matters to IPU jobs only, which `directory` stops.
    pub(crate) fn parse<W: AsRef<str>>(words: &[W]) -> Self {
        let mut directory = Err(BadArguments::NoDirectory);
        let mut wrong = None;
        for word in words.iter().map(AsRef::as_ref) {
            match word.split_once('=') {
                Some(("ipuof_dir", path)) if path.starts_with('/') => directory = Ok(path.into()),
                Some(("ipuof_dir", path)) => wrong = Some(BadArguments::RelativeDirectory(path.into())),
                _ => wrong = Some(BadArguments::Unknown(word.into())),
            }
        }
        Self { directory: wrong.map_or(directory, Err) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_words_are_taken() {
        let arguments = Arguments::parse(&["ipuof_dir=/shared/ip=uof"]);
        assert_eq!(arguments, Arguments { directory: Ok("/shared/ip=uof".into()) });
    }

    #[test]
    fn bad_words_are_named() {
        for (words, part) in [
            (&[][..], "ipuof_dir= is missing"),
            (&["ipuof_dir=shared"], "ipuof_dir=shared is not an absolute path"),
            (&["ipuof_dir=/x", "ipuof_dir="], "ipuof_dir= is not an absolute path"),
            (&["ipuof_dir=/x", "prefix=c2"], "'prefix=c2' is unknown"),
            (&["ipuof_dir=/x", "IPUOF_DIR=/y"], "'IPUOF_DIR=/y' is unknown"),
            (&["ipuof_dir=/x", "debug"], "'debug' is unknown"),
        ] {
            let error = Arguments::parse(words).directory.unwrap_err().to_string();
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }
}
