//! Links from a plugin directory of Slurm to the plugins of slurm-vipu.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf, absolute};
use std::{fs, io};

use anyhow::{Context, Result, bail, ensure};

/// A plugin that each Slurm has in its plugin directory.
const STOCK: &str = "select_cons_tres.so";

/// A plugin that each host of slurm-vipu has.
const OWN: &str = "select_vipu.so";

/// Links every file of `from` into `directory`. Makes no link if one of them cannot be made.
pub fn make(from: &Path, directory: &Path) -> Result<()> {
    // The path in a link begins at the link's own directory, unless it is absolute.
    let from = &absolute(from)?;
    ensure!(
        directory.join(STOCK).exists(),
        "{} is no plugin directory of Slurm, for it has no {STOCK}; \
         `scontrol show config | grep PluginDir` names yours",
        directory.display()
    );
    let files = files(from)?;
    let foreign = files.iter().map(|name| directory.join(name)).find(|link| is_foreign(from, link));
    if let Some(link) = foreign {
        bail!("{} is there, and is no link to {}; remove it first", link.display(), from.display());
    }
    let mut made = Vec::new();
    for name in &files {
        let link = directory.join(name);
        if link.is_symlink() {
            continue;
        }
        if let Err(why) = symlink(from.join(name), &link) {
            made.iter().for_each(|link: &PathBuf| drop(fs::remove_file(link)));
            let both = format!("PluginDir={}:{}", from.display(), directory.display());
            return Err(why).with_context(|| {
                format!("cannot make {}; you can write {both} in slurm.conf instead", link.display())
            });
        }
        made.push(link);
    }
    println!("{}: {} links to {}", directory.display(), files.len(), from.display());
    Ok(())
}

/// Removes the links to files of `from`, also to files that are gone. Leaves everything else.
pub fn remove(from: &Path, directory: &Path) -> Result<()> {
    let from = &absolute(from)?;
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let links = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let own: Vec<_> = links.into_iter().filter(|link| leads_to(from, link)).collect();
    for link in &own {
        fs::remove_file(link).with_context(|| format!("cannot remove {}", link.display()))?;
    }
    println!("{}: {} links removed", directory.display(), own.len());
    Ok(())
}

fn files(from: &Path) -> Result<Vec<OsString>> {
    ensure!(
        from.join(OWN).exists(),
        "{} has no {OWN}; name the folder with the plugins with --from",
        from.display()
    );
    let entries = fs::read_dir(from)?;
    let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn is_foreign(from: &Path, link: &Path) -> bool {
    link.symlink_metadata().is_ok() && !leads_to(from, link)
}

fn leads_to(from: &Path, link: &Path) -> bool {
    fs::read_link(link).is_ok_and(|target| target.parent() == Some(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folders {
        _both: tempfile::TempDir,
        from: PathBuf,
        slurm: PathBuf,
    }

    fn folders() -> Folders {
        let both = tempfile::tempdir().unwrap();
        let [from, slurm] = ["own", "slurm"].map(|name| both.path().join(name));
        for (folder, files) in [(&from, &[OWN, "spank_ipuof.so"][..]), (&slurm, &[STOCK, "auth_munge.so"])] {
            fs::create_dir(folder).unwrap();
            files.iter().for_each(|file| fs::write(folder.join(file), file).unwrap());
        }
        Folders { _both: both, from, slurm }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn pkg_plugin_links_are_made_and_removed() {
        let Folders { from, slurm, .. } = &folders();
        for _ in 0..2 {
            make(from, slurm).unwrap();
            assert_eq!(names(slurm), ["auth_munge.so", STOCK, OWN, "spank_ipuof.so"]);
        }
        assert_eq!(fs::read_to_string(slurm.join(OWN)).unwrap(), OWN);
        fs::remove_file(from.join("spank_ipuof.so")).unwrap();
        remove(from, slurm).unwrap();
        assert_eq!(names(slurm), ["auth_munge.so", STOCK]);
    }

    #[test]
    fn pkg_plugin_links_replace_no_file() {
        let Folders { from, slurm, .. } = &folders();
        fs::write(slurm.join("spank_ipuof.so"), "another").unwrap();
        let refused = make(from, slurm).unwrap_err().to_string();
        assert!(refused.contains("spank_ipuof.so is there"), "{refused}");
        assert_eq!(names(slurm), ["auth_munge.so", STOCK, "spank_ipuof.so"]);
        remove(from, slurm).unwrap();
        assert_eq!(names(slurm), ["auth_munge.so", STOCK, "spank_ipuof.so"]);
    }

    #[test]
    fn pkg_plugin_links_go_into_a_plugin_directory_only() {
        let Folders { from, slurm, .. } = &folders();
        let refused = make(from, from).unwrap_err().to_string();
        assert!(refused.contains("is no plugin directory of Slurm"), "{refused}");
        let refused = make(slurm, slurm).unwrap_err().to_string();
        assert!(refused.contains("has no select_vipu.so; name the folder"), "{refused}");
    }
}
