//! Finds the status document.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Failure;
use crate::surroundings::Surroundings;

/// The name of the document in its directory.
const NAME: &str = "vipu_status.json";

/// The path of the document. `option` is that of `--status`, `configured` that of svipu.toml.
pub(crate) fn document(
    option: Option<&Path>,
    configured: Option<&Path>,
    surroundings: &Surroundings,
) -> Result<PathBuf, Failure> {
    let given = option.map(Path::to_owned);
    let given = given.or_else(|| surroundings.variable("SVIPU_STATUS").map(PathBuf::from));
    let given = given.or_else(|| configured.map(Path::to_owned));
    let path = given.or_else(|| of_plugstack(surroundings)).ok_or(Failure::NotFound)?;
    Ok(if path.is_dir() { path.join(NAME) } else { path })
}

/// The document in the directory that the line of the SPANK plugin names. A site need not copy it there.
fn of_plugstack(surroundings: &Surroundings) -> Option<PathBuf> {
    Some(ipuof_dir(surroundings)?.join(NAME)).filter(|document| document.exists())
}

/// The directory of IPUoF files, as plugstack.conf names it.
pub(crate) fn ipuof_dir(surroundings: &Surroundings) -> Option<PathBuf> {
    let beside = surroundings.variable("SLURM_CONF").and_then(|conf| Path::new(conf).parent());
    let folders = beside.map(Path::to_owned).into_iter().chain([surroundings.etc.join("slurm")]);
    folders.map(|folder| folder.join("plugstack.conf")).find_map(|file| {
        let text = fs::read(file).ok()?;
        String::from_utf8_lossy(&text).lines().find_map(of_line)
    })
}

/// The directory of IPUoF files in a line of plugstack.conf.
fn of_line(line: &str) -> Option<PathBuf> {
    let mut words = line.split('#').next()?.split_ascii_whitespace();
    let loads = ["required", "optional"].contains(&words.next()?);
    let ours = Path::new(words.next()?).file_name()? == "spank_ipuof.so";
    let directory = words.find_map(|word| word.strip_prefix("ipuof_dir="))?;
    (loads && ours).then(|| directory.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_svipu_lines_that_name_the_directory() {
        let found = of_line("required /usr/lib/slurm/spank_ipuof.so preflight=off ipuof_dir=/s # x");
        assert_eq!(found, Some("/s".into()));
        for wrong in ["", "#required spank_ipuof.so ipuof_dir=/s", "required x.so ipuof_dir=/s"] {
            assert_eq!(of_line(wrong), None, "{wrong}");
        }
    }
}
