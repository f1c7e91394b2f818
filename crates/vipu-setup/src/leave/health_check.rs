//! The check of nodes that looks for the mark in IpuofDir: after `leave --clean` it would drain all nodes.

use std::fs;

use super::conf_lines::place;
use super::files;
use super::left::Left;
use super::site::Site;

/// The name of the script in docs/maintenance.md.
const SCRIPT: &str = "check-ipus.sh";

/// HealthCheckProgram, if it is the script of docs/maintenance.md, or looks for the mark as that script does.
pub fn left(site: &Site) -> Option<Left> {
    let program = program(site).filter(|program| looks_for_mark(site, program))?;
    let what = format!("HealthCheckProgram={program} looks for the mark {} in IpuofDir", files::mark(site));
    let fix = "take this out: without the mark, which slurm-vipu-setup leave --clean removes, the script drains all nodes";
    Some(Left::new(place(site, "HealthCheckProgram"), what, fix))
}

/// What to look at by hand: a program that may look for the mark in a file of its own.
pub fn note(site: &Site) -> Option<String> {
    let program = program(site).filter(|program| !looks_for_mark(site, program))?;
    let marks: Vec<_> = files::marks(site).iter().map(|mark| mark.display().to_string()).collect();
    // Without a mark there is nothing that the program could miss.
    (!marks.is_empty()).then(|| {
        format!(
            "{}: note: if HealthCheckProgram={program}, or a file that it reads, looks for {}, take this out before slurm-vipu-setup leave --clean: that removes the mark, and nodes drain",
            place(site, "HealthCheckProgram"),
            marks.join(" or ")
        )
    })
}

fn program(site: &Site) -> Option<&str> {
    site.conf.value("HealthCheckProgram").filter(|program| !program.is_empty())
}

/// Whether this host's copy of the program names the mark. Nodes can have another copy, so the name of the script counts
/// if there is none here.
fn looks_for_mark(site: &Site, program: &str) -> bool {
    let path = program.split_whitespace().next().unwrap_or_default();
    match fs::read(path) {
        Ok(text) => String::from_utf8_lossy(&text).lines().any(|line| names_mark(site, line)),
        Err(_) => path.rsplit('/').next() == Some(SCRIPT),
    }
}

/// Whether a line that is no comment names the mark of this cluster.
fn names_mark(site: &Site, line: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
    let line = line.to_lowercase();
    // The name of another cluster may begin with that of this one.
    !line.trim_start().starts_with('#') && line.split(&files::mark(site)).skip(1).any(is_end)
}
