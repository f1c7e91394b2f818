//! The files of slurm-vipu.

use std::fs;
use std::path::PathBuf;

use vipu_status::file_names;

use super::left::Left;
use super::site::Site;

/// The files and folders that this cluster's slurm-vipu has written, without those of its partitions.
pub fn written(site: &Site) -> Vec<PathBuf> {
    // Slurm has the name in small letters.
    let cluster = site.conf.value("ClusterName").unwrap_or_default().to_lowercase();
    let is_shared = |name: &str| {
        name == format!(".vipu_{cluster}")
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
    if conf.exists() {
        left.push(Left::new(conf.display().to_string(), "no other software reads it", "remove it"));
    }
    left
}
