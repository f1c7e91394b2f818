//! What packages do when they are installed and removed, in sh. None starts or changes Slurm.

use super::contents::{File, Package};

/// The script after an installation. It tells the next steps; `is_first` and `is_upgrade` are conditions of sh.
pub fn after_install(package: &Package, is_first: &str, is_upgrade: &str) -> String {
    let tell = |when, what| format!("if {when}; then cat <<'NEXT'\n{}: {what}\nNEXT\nfi\n", package.name);
    let upgrade = package.after_upgrade.map(|what| tell(is_upgrade, what)).unwrap_or_default();
    // systemd then knows the units and drop-ins. It restarts nothing.
    let reload = units(package).next().map(|_| systemctl("[ -d /run/systemd/system ]", "daemon-reload"));
    tell(is_first, package.next) + &upgrade + &reload.unwrap_or_default()
}

/// The script before a removal, for a package with a service.
pub fn before_removal(package: &Package, is_removal: &str) -> Option<String> {
    let service = units(package).find(|unit| unit.ends_with(".service"))?;
    let when = format!("{is_removal} && [ -d /run/systemd/system ]");
    Some(systemctl(&when, &format!("disable --now {service}")))
}

fn systemctl(when: &str, words: &str) -> String {
    format!("if {when}; then systemctl {words} || true; fi\n")
}

fn units(package: &Package) -> impl Iterator<Item = &'static str> {
    package.files.iter().filter_map(|file| match file {
        File::Text(_, to) => to.strip_prefix("/usr/lib/systemd/system/"),
        _ => None,
    })
}
