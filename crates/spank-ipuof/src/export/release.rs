//! The series of the Slurm that loaded the plugin.

use slurm_release::{Series, known_releases, table_file};

use super::host;

/// The series, from the soname of the libslurm that is loaded.
///
/// For a soname that is newer than this build, the table file names the series, as for the other plugins.
pub(super) fn series() -> Result<Series, String> {
    let soname = host::soname().ok_or("no libslurm is loaded here")?;
    if let Some(series) = Series::of_soname(soname) {
        return Ok(series);
    }
    let beside = host::slurm_conf().into_iter().chain(host::own_file());
    let table = table_file::find(beside.filter_map(|file| Some(file.parent()?.to_owned())));
    let found = match table {
        Ok(Some((path, table))) => match table.series_of_soname(soname) {
            Some(series) => return Ok(series),
            None => format!("{} is of Slurm {}", path.display(), table.release.version),
        },
        Ok(None) => format!("there is no {} beside slurm.conf", table_file::NAME),
        Err(why) => why,
    };
    Err(format!(
        "libslurm.so.{soname} is of no release known to this build (known: {}) and {found}; measure it with \
         `cargo xtask layout --source DIR`, see docs/releases.md",
        known_releases()
    ))
}
