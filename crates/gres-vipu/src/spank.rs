//! Checks that the node's steps load `spank_ipuof.so`. Without it, tasks would run without their IPUs, so that
//! they are ended.

use std::fs;
use std::io;
use std::path::Path;

use slurm_host::plugstack::{self, LINE, Missing, SPANK_IPUOF};

/// The folder in `SlurmdSpoolDir` of a slurmd without configuration files of its own.
const CACHE: &str = "conf-cache";

/// The text of a plugstack.conf for a step with IPUs, if the node's own does not load `spank_ipuof.so`: the plugin, from
/// this folder, ends the tasks with the cause. The other plugins are loaded as always.
///
/// # Errors
/// If plugstack.conf cannot be read, or the plugin is not in the folder.
pub(crate) fn stack_that_ends_tasks(folder: &Path) -> io::Result<Option<String>> {
    let file =
        plugstack::path().ok_or_else(|| io::Error::other("it is not known where plugstack.conf is"))?;
    if plugstack::missing(&file, SPANK_IPUOF)?.is_none() {
        return Ok(None);
    }
    let plugin = folder.join(SPANK_IPUOF);
    fs::metadata(&plugin)
        .map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", plugin.display())))?;
    Ok(Some(format!(
        "required {} missing_in={file}\ninclude {file}\n",
        plugin.display(),
        file = file.display()
    )))
}

/// The fault in one line, with advice.
pub(crate) fn fault() -> Option<String> {
    let Some(file) = plugstack::path() else {
        return Some(format!("it is not known where plugstack.conf is, and whether it loads {SPANK_IPUOF}"));
    };
    of(&file, plugstack::missing(&file, SPANK_IPUOF))
}

fn of(file: &Path, found: io::Result<Option<Missing>>) -> Option<String> {
    let what = match found {
        Ok(missing) => missing?.in_words(file, SPANK_IPUOF),
        Err(why) => return Some(format!("cannot see whether plugstack.conf loads {SPANK_IPUOF}: {why}")),
    };
    let place = if is_sent(file) {
        "plugstack.conf beside slurm.conf on slurmctld's host, which sends it to this node,"
    } else {
        "that file"
    };
    Some(format!("{what}: jobs with IPUs fail on this node; write into {place} the line: {LINE}"))
}

/// Whether slurmctld has sent this file.
fn is_sent(file: &Path) -> bool {
    file.parent().and_then(Path::file_name).is_some_and(|folder| folder == CACHE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_line_is_named_with_its_place() {
        let (own, sent) = ("/etc/slurm/plugstack.conf", "/var/spool/slurmd/conf-cache/plugstack.conf");
        for (file, missing, parts) in [
            (
                own,
                Missing::File,
                ["there is no /etc/slurm/plugstack.conf: jobs with", "write into that file the line"],
            ),
            (
                own,
                Missing::Line,
                [
                    "/etc/slurm/plugstack.conf does not load spank_ipuof.so",
                    "required spank_ipuof.so ipuof_dir=",
                ],
            ),
            (sent, Missing::File, ["conf-cache/plugstack.conf: ", "beside slurm.conf on slurmctld's host"]),
        ] {
            let told = of(Path::new(file), Ok(Some(missing))).unwrap();
            assert!(parts.iter().all(|part| told.contains(part)), "{told}");
        }
        assert_eq!(of(Path::new(own), Ok(None)), None);
        let told = of(Path::new(own), Err(io::ErrorKind::PermissionDenied.into())).unwrap();
        assert!(told.starts_with("cannot see whether plugstack.conf loads spank_ipuof.so: "), "{told}");
    }
}
