//! Fetches a step's config files from the controller, as root, before its tasks start (Delivery=node).
//!
//! The program `ipuof-fetch`, beside this plugin, does the work. Every Slurm command loads this plugin, so it
//! has no gRPC and TLS.

use std::path::Path;
use std::process::{Command, Stdio};

use vipu_types::{Grant, Words, words};

use crate::step::StepDir;

/// The program's name.
const PROGRAM: &str = "ipuof-fetch";

/// The order to fetch the config files of one step.
pub(crate) struct Order<'a> {
    /// The folder of the plugin.
    pub(crate) beside: &'a Path,
    /// The folder of vipu.conf.
    pub(crate) conf_dir: &'a Path,
    /// The folder in which steps have their directories.
    pub(crate) run_dir: &'a Path,
    /// The job.
    pub(crate) job: u32,
    /// Its user's id.
    pub(crate) user: u32,
    /// The grant in the step's environment.
    pub(crate) grant: &'a Grant,
}

/// The reason why there are no files.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// The line for the job's user.
    pub(crate) line: Words,
    /// The text for the administrator only.
    pub(crate) detail: String,
}

impl Trouble {
    pub(crate) fn new(line: Words) -> Self {
        Self { line, detail: String::new() }
    }
}

impl Order<'_> {
    /// Makes the step's directory, with its files in it.
    pub(crate) fn carry_out(&self) -> Result<StepDir, Trouble> {
        let directory = StepDir::make(self.run_dir, self.job).map_err(|error| {
            let run_dir = self.run_dir.display();
            Trouble::new(words!(
                "nothing can be kept in {run_dir}: {error}; the administrator should see to it"
            ))
        })?;
        match self.fetch(directory.path()) {
            Ok(()) => Ok(directory),
            Err(trouble) => {
                // The error of the fetch matters more. The next start of slurmd removes a leftover directory.
                let _ = directory.remove();
                Err(trouble)
            }
        }
    }

    fn fetch(&self, into: &Path) -> Result<(), Trouble> {
        let program = self.beside.join(PROGRAM);
        let mut command = Command::new(&program);
        command.arg(self.conf_dir).args([
            self.job.to_string(),
            self.user.to_string(),
            self.grant.to_string(),
        ]);
        let output = command.arg(into).env_clear().stdin(Stdio::null()).output().map_err(|error| {
            let program = program.display();
            Trouble::new(words!("cannot run {program}: {error}; the administrator should install it there"))
        })?;
        if output.status.success() {
            return Ok(());
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().replace(char::is_control, " ");
        let line = match text(&output.stdout) {
            line if line.is_empty() => words!("{} ended with {}", program.display(), output.status),
            line => line.into(),
        };
        Err(Trouble { line, detail: text(&output.stderr) })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// The outcome with a program of this text, and the entries of the run directory after it.
    fn outcome(script: Option<&str>) -> (Result<StepDir, Trouble>, Vec<String>, tempfile::TempDir) {
        let root = tempfile::tempdir().unwrap();
        if let Some(script) = script {
            let program = root.path().join(PROGRAM);
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let run_dir = root.path().join("run");
        let grant = "slurm_42,pod64,4,1,v:1,node".parse().unwrap();
        let order = Order {
            beside: root.path(),
            conf_dir: Path::new("/etc/slurm"),
            run_dir: &run_dir,
            job: 42,
            user: 1001,
            grant: &grant,
        };
        let outcome = order.carry_out();
        let left = fs::read_dir(&run_dir).unwrap().map(|entry| entry.unwrap().path().display().to_string());
        (outcome, left.collect(), root)
    }

    #[test]
    fn the_program_gets_its_arguments_and_no_environment() {
        let (made, _, _root) = outcome(Some("echo \"$1 $2 $3 $4 $HOME\" > \"$5/told\""));
        let told = fs::read_to_string(made.unwrap().path().join("told")).unwrap();
        assert_eq!(told, "/etc/slurm 42 1001 slurm_42,pod64,4,1,v:1,node \n");
    }

    #[test]
    fn a_failure_leaves_one_line_and_no_directory() {
        for (script, line, detail) in [
            (Some("echo controller v:1: away; echo secret >&2; exit 1"), "controller v:1: away", "secret"),
            (Some("exit 3"), "ipuof-fetch ended with exit status: 3", ""),
            (None, "the administrator should install it there", ""),
        ] {
            let (failed, left, _root) = outcome(script);
            let trouble = failed.unwrap_err();
            assert!(trouble.line.contains(line) && !trouble.line.contains('\n'), "{trouble:?}");
            assert_eq!((trouble.detail.as_str(), left.len()), (detail, 0));
        }
    }
}
