//! The files of slurm-vipu.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use vipu_status::file_names;

use super::site::{Left, Site};

/// The files and folders that this cluster's slurm-vipu has written, without those of its partitions.
pub fn written(site: &Site) -> Vec<PathBuf> {
    let cluster = cluster(site);
    let is_shared = |name: &str| {
        name == mark(site)
            || name == file_names::public(&cluster)
            || name == file_names::requests(&cluster)
            || file_names::user_of(name, &cluster).is_some()
    };
    let status_dirs = site.settings.iter().flatten().filter_map(|settings| settings.status_dir.clone());
    let shared = site.ipuof_dirs().into_iter().chain(status_dirs);
    let mut found: Vec<_> = shared.flat_map(|directory| inside(directory, is_shared)).collect();
    found.extend(inside(site.state_save_location(), |name| name.starts_with("vipu_")));
    found.extend(site.admin_socket().filter(|socket| socket.exists()));
    // The journal says which partitions to remove. It has to go last.
    found.sort_by_key(|path| (path.ends_with("vipu_journal"), path.clone()));
    found.dedup();
    found
}

fn inside(directory: PathBuf, is_ours: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(&is_ours));
    ours.map(|entry| entry.path()).collect()
}

pub fn left(site: &Site) -> Vec<Left> {
    let fix = "slurm-vipu-setup leave --clean";
    let files = written(site).into_iter();
    let mut left: Vec<_> =
        files.map(|path| Left::new(path.display().to_string(), "slurm-vipu wrote it", fix)).collect();
    let conf = site.path.with_file_name("vipu.conf");
    let confs = site.model_files.iter().chain(Some(&conf).filter(|conf| conf.exists()));
    // vipu.conf names a controller, too, unless it is broken.
    let confs: BTreeSet<_> = confs.collect();
    let removed =
        |conf: &PathBuf| Left::new(conf.display().to_string(), "no other software reads it", "remove it");
    left.extend(confs.into_iter().map(removed));
    left
}

/// The marks of this cluster in directories of IPUoF files.
pub fn marks(site: &Site) -> Vec<PathBuf> {
    let directories = site.ipuof_dirs().into_iter();
    let marks = directories.map(|directory| directory.join(mark(site)));
    marks.filter(|mark| mark.exists()).collect()
}

/// The name of the mark.
pub fn mark(site: &Site) -> String {
    format!(".vipu_{}", cluster(site))
}

/// The name of the cluster as Slurm has it: in small letters.
fn cluster(site: &Site) -> String {
    site.conf.value("ClusterName").unwrap_or_default().to_lowercase()
}
