//! Finds the status document.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use vipu_status_reader::Source;

use crate::error::Failure;
use crate::surroundings::Surroundings;

/// The name of the document in its directory.
const NAME: &str = "vipu_status.json";

/// The name of the tool's own configuration file.
const CONF: &str = "svipu.toml";

/// The place of the document. `option` is that of `--status`.
pub(crate) fn document(option: Option<&Path>, surroundings: &Surroundings) -> Result<Source, Failure> {
    let given = option.map(Path::to_owned);
    let given = given.or_else(|| surroundings.variable("SVIPU_STATUS").map(PathBuf::from));
    let source = match given {
        Some(words) => Source::from(words),
        None => configured(surroundings)?,
    };
    Ok(match source {
        Source::File(path) if path.is_dir() => Source::File(path.join(NAME)),
        other => other,
    })
}

fn configured(surroundings: &Surroundings) -> Result<Source, Failure> {
    let own = surroundings.variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let own = own.or_else(|| Some(Path::new(surroundings.variable("HOME")?).join(".config")));
    for folder in own.iter().chain([&surroundings.etc]) {
        if let Some(source) = of_conf(&folder.join(CONF))? {
            return Ok(source);
        }
    }
    of_plugstack(surroundings).map(Source::File).ok_or(Failure::NotFound)
}

/// The place that a configuration file names, if there is such a file.
fn of_conf(file: &Path) -> Result<Option<Source>, Failure> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(why) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&why.kind()) => return Ok(None),
        Err(why) => return Err(Failure::Unreadable(file.to_owned(), format!("cannot read it: {why}"))),
    };
    let wrong = |line: &str| {
        let why = format!("'{}' is unknown: write status = \"PATH\"", crate::safe::cut(line, 60));
        Failure::Unreadable(file.to_owned(), why)
    };
    let mut named = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        named = Some(value(line).ok_or_else(|| wrong(line))?);
    }
    let folder = file.parent().unwrap_or(Path::new("/"));
    Ok(named.map(|named| match Source::from(PathBuf::from(named)) {
        Source::File(path) => Source::File(folder.join(path)),
        other => other,
    }))
}

/// The value of a line `status = "value"`. The file has this key only, which needs no reader of all TOML.
fn value(line: &str) -> Option<&str> {
    let value = line.strip_prefix("status")?.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    let (path, rest) = value[1..].split_once(quote)?;
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with('#')).then_some(path)
}

/// The document in the directory that the line of the SPANK plugin names.
fn of_plugstack(surroundings: &Surroundings) -> Option<PathBuf> {
    let beside = surroundings.variable("SLURM_CONF").and_then(|conf| Path::new(conf).parent());
    let folders = beside.map(Path::to_owned).into_iter().chain([surroundings.etc.join("slurm")]);
    // A site need not copy the document there.
    let found = folders.map(|folder| folder.join("plugstack.conf")).find_map(|file| {
        let text = fs::read(file).ok()?;
        String::from_utf8_lossy(&text).lines().find_map(ipuof_dir)
    });
    found.filter(|document| document.exists())
}

/// The document in the directory of a line of plugstack.conf.
fn ipuof_dir(line: &str) -> Option<PathBuf> {
    let mut words = line.split('#').next()?.split_ascii_whitespace();
    let loads = ["required", "optional"].contains(&words.next()?);
    let ours = Path::new(words.next()?).file_name()? == "spank_ipuof.so";
    let directory = words.find_map(|word| word.strip_prefix("ipuof_dir="))?;
    (loads && ours).then(|| Path::new(directory).join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_svipu_lines_that_name_the_document() {
        assert_eq!(value("status = \"/a b\" # x"), Some("/a b"));
        assert_eq!(value("status='/a'"), Some("/a"));
        for wrong in ["status = /a", "status", "stat = \"a\"", "status = \"a\" b", "status = \""] {
            assert_eq!(value(wrong), None, "{wrong}");
        }
        let found = ipuof_dir("required /usr/lib/slurm/spank_ipuof.so preflight=off ipuof_dir=/s # x");
        assert_eq!(found, Some("/s/vipu_status.json".into()));
        for wrong in ["", "#required spank_ipuof.so ipuof_dir=/s", "required x.so ipuof_dir=/s"] {
            assert_eq!(ipuof_dir(wrong), None, "{wrong}");
        }
    }
}
