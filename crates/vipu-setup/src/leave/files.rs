//! The files of slurm-vipu.

use std::path::PathBuf;

use anyhow::Result;

use super::left::Left;
use super::site::Site;

/// The files and folders that this cluster's slurm-vipu has written, without those of its partitions.
pub fn written(site: &Site) -> Vec<PathBuf> {
    let cluster = glob::Pattern::escape(site.cluster());
    let mut patterns = vec![site.state("vipu_*")];
    let status_dirs = site.settings.iter().filter_map(|settings| settings.status_dir.clone());
    for directory in site.ipuof_dirs().into_iter().chain(status_dirs) {
        let names = [
            format!(".vipu_{cluster}"),
            format!("vipu_status.{cluster}.json"),
            format!("vipu_own_jobs.{cluster}.*.json"),
            format!("vipu_requests.{cluster}"),
        ];
        patterns.extend(names.map(|name| directory.join(name)));
    }
    let found = patterns.iter().flat_map(|pattern| glob::glob(&pattern.to_string_lossy()));
    let mut found: Vec<_> = found.flatten().flatten().collect();
    // The journal says which partitions to remove. It has to go last.
    found.sort_by_key(|path| (path.ends_with("vipu_journal"), path.clone()));
    found.dedup();
    found
}

pub fn left(site: &Site) -> Result<Vec<Left>> {
    let files = written(site).into_iter();
    let mut left: Vec<_> = files
        .map(|path| {
            Left::new(path.display().to_string(), "slurm-vipu wrote it", "slurm-vipu-setup leave --clean")
        })
        .collect();
    let folder = site.path.with_file_name("vipu.conf");
    if folder.exists() {
        left.push(Left::new(folder.display().to_string(), "no other software reads it", "remove it"));
    }
    Ok(left)
}
