//! The controller's address, where the vendor's command-line tool or a script has it.

use std::path::Path;

use slurm_conf::Files as _;

use super::scripts::Script;
use crate::slurm_files::SlurmFiles;
use crate::surroundings::Surroundings;

/// The settings of the vendor's tools.
#[derive(Default)]
pub(super) struct Settings {
    /// The host of the controller, and where it stands.
    pub(super) host: Option<(String, String)>,
    pub(super) port: Option<String>,
    /// The file with an access key. The key itself is never kept.
    pub(super) key_in: Option<String>,
}

/// Reads the tool's file, then the environment, then the scripts. The first address counts.
pub(super) fn find(surroundings: &Surroundings, scripts: &[Script]) -> Settings {
    let mut settings = Settings::default();
    let file = surroundings.etc.join("vipu/vipu-cli.hcl");
    if let Ok(text) = SlurmFiles.read(&file) {
        text.lines().enumerate().for_each(|(index, line)| settings.read(line, &file, index + 1));
    }
    if let Some(host) = surroundings.variable("VIPU_CLI_API_HOST") {
        let host = host.to_string_lossy().into_owned();
        settings.host.get_or_insert((host, "the variable VIPU_CLI_API_HOST".into()));
    }
    for script in scripts {
        script.lines.iter().for_each(|(number, line)| settings.read(line, &script.path, *number));
    }
    settings
}

impl Settings {
    fn read(&mut self, line: &str, path: &Path, number: usize) {
        if line.trim_start().starts_with('#') {
            return;
        }
        let line = line.to_ascii_lowercase().replace('_', "-");
        if let Some(host) = value(&line, "api-host").filter(|_| self.host.is_none()) {
            self.host = Some((host, format!("{}:{number}", path.display())));
        }
        self.port = self.port.take().or_else(|| value(&line, "api-port"));
        if line.contains("api-access-key") {
            self.key_in.get_or_insert_with(|| path.display().to_string());
        }
    }
}

/// The value behind a name: `name="value"`, `name = value` or `--name value`.
fn value(line: &str, name: &str) -> Option<String> {
    let (_, rest) = line.split_once(name)?;
    let rest = rest.trim_start_matches([' ', '=', '"', '\'']);
    let is_of_value = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
    let value = &rest[..rest.find(|c| !is_of_value(c)).unwrap_or(rest.len())];
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_migrate_addresses_of_controllers() {
        for (line, found) in [
            ("api-host=\"10.1.3.101\"", Some("10.1.3.101")),
            ("export vipu-cli-api-host=pod.example.org", Some("pod.example.org")),
            ("vipu --api-host 'a' list", Some("a")),
            ("api-host=$host", None),
            ("api-port=1", None),
        ] {
            assert_eq!(value(line, "api-host").as_deref(), found, "{line}");
        }
    }
}
