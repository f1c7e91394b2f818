//! Finds the status document.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use slurm_conf::Plugstack;

use crate::error::Failure;
use crate::slurm_files::SlurmFiles;
use crate::surroundings::Surroundings;

/// The name of the document in its directory.
const NAME: &str = "vipu_status.json";

/// The name of the tool's own configuration file.
const CONF: &str = "svipu.toml";

/// The path of the document. `option` is that of `--status`.
pub(crate) fn document(option: Option<&Path>, surroundings: &Surroundings) -> Result<PathBuf, Failure> {
    let given = option.map(Path::to_owned);
    let given = given.or_else(|| surroundings.variable("SVIPU_STATUS").map(PathBuf::from));
    let path = match given {
        Some(path) => path,
        None => configured(surroundings)?,
    };
    Ok(if path.is_dir() { path.join(NAME) } else { path })
}

fn configured(surroundings: &Surroundings) -> Result<PathBuf, Failure> {
    let own = surroundings.variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let own = own.or_else(|| Some(Path::new(surroundings.variable("HOME")?).join(".config")));
    for folder in own.iter().chain([&surroundings.etc]) {
        if let Some(path) = of_conf(&folder.join(CONF))? {
            return Ok(path);
        }
    }
    of_plugstack(surroundings).ok_or(Failure::NotFound)
}

/// The path that a configuration file names, if there is such a file.
fn of_conf(file: &Path) -> Result<Option<PathBuf>, Failure> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(why) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&why.kind()) => return Ok(None),
        Err(why) => return Err(Failure::Unreadable(file.to_owned(), format!("cannot read it: {why}"))),
    };
    let wrong = |line: &str| {
        let why = format!("'{}' is unknown: write status = \"PATH\"", crate::safe::cut(line, 60));
        Failure::Unreadable(file.to_owned(), why)
    };
    let mut path = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        path = Some(value(line).ok_or_else(|| wrong(line))?);
    }
    Ok(path.map(|path| file.parent().unwrap_or(Path::new("/")).join(path)))
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
    let found = folders.map(|folder| folder.join("plugstack.conf")).find_map(|file| {
        let stack = Plugstack::read(&file, &mut SlurmFiles).ok()?;
        Some(Path::new(stack.plugin("spank_ipuof.so")?.argument("ipuof_dir")?).join(NAME))
    });
    // A site need not copy the document there.
    found.filter(|document| document.exists())
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
    }
}
