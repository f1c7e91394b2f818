//! Scripts that Slurm runs, what they do with IPUs, and the controller's address in them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use slurm_conf::{Files as _, Line, PROGRAMS_AROUND_JOBS, SlurmConf};

use super::other_names::is_about_ipus;
use crate::slurm_files::SlurmFiles;
use crate::surroundings::Surroundings;

/// The file that gives hosts their IPU-Machines.
pub(super) const ALLOCS: &str = "ipum.allocs";

/// Words, in small letters, of lines that work with IPUs.
const WORDS: [&str; 4] = ["vipu", "ipuof", ALLOCS, "gc-monitor"];

/// Commands with which a script takes the file of a partition for a job, and gives it back.
const MOVES: [&str; 3] = ["mv", "ln", "cp"];

/// First words of lines that do nothing alone.
const IDLE: [&str; 9] = ["set", "exit", "fi", "then", "else", "done", "esac", "}", ":"];

/// The beginning of a comment in Lua.
const LUA: &str = "--";

/// A script with lines that work with IPUs.
pub(super) struct Script {
    pub(super) path: PathBuf,
    /// The place of the line in slurm.conf, if the script does nothing else.
    pub(super) needless: Option<Line>,
    /// The numbered lines that work with IPUs.
    pub(super) lines: Vec<(usize, String)>,
}

/// `line 3`, or `lines 3-5, 8`.
fn words(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let runs: Vec<_> = runs
        .filter_map(|run| match run {
            [one] => Some(one.to_string()),
            [first, .., last] => Some(format!("{first}-{last}")),
            [] => None,
        })
        .collect();
    format!("{} {}", if numbers.len() == 1 { "line" } else { "lines" }, runs.join(", "))
}

/// The scripts of slurm.conf, and job_submit.lua if Slurm reads it, with a note about each that needs one. On a site
/// with partitions made in advance, scripts may give them to jobs without a word about IPUs.
pub(super) fn find(conf: &SlurmConf, folder: &Path, is_static: bool) -> (Vec<Script>, Vec<String>) {
    let (mut scripts, mut notes) = (Vec::new(), Vec::new());
    for line in PROGRAMS_AROUND_JOBS.iter().flat_map(|key| conf.all(key)) {
        let value = Path::new(&line.pair.value);
        let mut paths = SlurmFiles.matching(value);
        if paths.is_empty() {
            paths.push(value.to_owned());
        }
        let alone = (paths.len() == 1).then_some(line);
        let named_by = format!("{}={}", line.pair.key, line.pair.value);
        for path in paths {
            let (script, note) = read(path, &named_by, alone, "#", is_static);
            scripts.extend(script);
            notes.extend(note);
        }
    }
    let is_lua = |list: &str| list.split(',').any(|one| one.trim().ends_with("lua"));
    if conf.value("JobSubmitPlugins").is_some_and(is_lua) {
        let path = folder.join("job_submit.lua");
        let (script, note) = read(path, "JobSubmitPlugins=lua", None, LUA, is_static);
        scripts.extend(script);
        notes.extend(note);
    }
    (scripts, notes)
}

/// The script, if it works with IPUs, and the note about it.
fn read(
    path: PathBuf,
    named_by: &str,
    line: Option<&Line>,
    comment: &str,
    is_static: bool,
) -> (Option<Script>, Option<String>) {
    let note = |what: String| Some(format!("{} ({named_by}): {what}", path.display()));
    let text = match SlurmFiles.read(&path) {
        Ok(text) => text,
        Err(why) => {
            let why = match why.kind() {
                ErrorKind::NotFound => "it is not on this host".to_owned(),
                _ => why.to_string(),
            };
            let what = format!(
                "it was not read: {why}; take out what it does with IPUs, as slurm-vipu does that for each job"
            );
            return (None, note(what));
        }
    };
    let code = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let code = code.filter(|(_, line)| !line.is_empty() && !line.starts_with(comment));
    let (lines, others): (Vec<_>, Vec<_>) = code.partition(|(_, line)| works_with_ipus(line));
    let takers = others.iter().filter(|(_, line)| is_static && may_take_a_partition(line));
    let takers: Vec<_> = takers.map(|(number, _)| *number).collect();
    let asked = others.iter().filter(|(_, line)| comment == LUA && !is_static && is_about_ipus(line));
    let asked: Vec<_> = asked.map(|(number, _)| *number).collect();
    let numbers: Vec<_> = lines.iter().map(|(number, _)| *number).collect();
    let is_needless = !lines.is_empty() && others.iter().all(|(_, line)| is_idle(line));
    let needless = line.filter(|_| is_needless).cloned();
    let mut what = Vec::new();
    if needless.is_some() {
        what.push("it does nothing but what slurm-vipu does for each job, so the diff drops it".to_owned());
    } else if !lines.is_empty() {
        let (work, them) = if numbers.len() == 1 { ("works", "it") } else { ("work", "them") };
        what.push(format!(
            "{} {work} with IPUs, as slurm-vipu does for each job: take {them} out",
            words(&numbers)
        ));
    }
    if !asked.is_empty() {
        let name = if asked.len() == 1 { "names" } else { "name" };
        what.push(format!(
            "{} {name} IPUs as the site does: let the script look for vipu instead; job_desc.gres has no --ipus yet \
             (docs/installing.md#what-else-your-site-may-have)",
            words(&asked)
        ));
    }
    if !takers.is_empty() {
        what.push(format!(
            "{}, with what belongs there, may give each job a partition made in advance: take that out, or it goes on taking \
             partitions, and an error in it drains the node",
            words(&takers)
        ));
    }
    let note = note(what.join("; ")).filter(|_| !what.is_empty());
    let lines: Vec<_> = lines.into_iter().map(|(number, line)| (number, line.to_owned())).collect();
    ((!lines.is_empty()).then_some(Script { path, needless, lines }), note)
}

fn works_with_ipus(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    WORDS.iter().any(|word| line.contains(word))
}

/// Whether a line may move the file of a partition, or names one. Slurm's own variable has the word, too.
fn may_take_a_partition(line: &str) -> bool {
    let line = line.to_ascii_lowercase().replace("slurm_job_partition", "");
    let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
    line.contains("partition") || words.any(|word| word.starts_with("ipu") || MOVES.contains(&word))
}

/// Whether a line of a shell script does nothing alone: a word such as `fi`, or the value of a variable.
fn is_idle(line: &str) -> bool {
    let first = line.split([' ', ';', '\t']).next().unwrap_or_default();
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let assigns = line.split_once('=').is_some_and(|(name, _)| is_name(name))
        && !line.contains(['`', '(', ';', '|', '&', ' ']);
    IDLE.contains(&first) || assigns
}

/// The settings of the vendor's tools.
#[derive(Default)]
pub(super) struct Settings {
    /// The host of the controller, and where it stands.
    pub(super) host: Option<(String, String)>,
    pub(super) port: Option<String>,
    /// The file with an access key. The key itself is never kept.
    pub(super) key_in: Option<String>,
    /// The line that gives all jobs one partition.
    pub(super) shared_in: Option<String>,
}

/// Reads the tool's file, then the environment, then the scripts. The first address counts.
pub(super) fn find_settings(surroundings: &Surroundings, scripts: &[Script]) -> Settings {
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
    // A site whose scripts make partitions has one for each job.
    let makes = |script: &Script| script.lines.iter().any(|(_, line)| line.contains("create partition"));
    settings.shared_in = settings.shared_in.filter(|_| !scripts.iter().any(makes));
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
        let shared = line.split_once("ipuof-vipu-api-partition-id=");
        if shared.is_some_and(|(_, id)| !id.contains("slurm")) {
            self.shared_in.get_or_insert_with(|| format!("{}:{number}", path.display()));
        }
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
    fn cli_migrate_lines_of_scripts() {
        assert_eq!(words(&[3]), "line 3");
        assert_eq!(words(&[3, 4, 5, 8, 10, 11]), "lines 3-5, 8, 10-11");
        for idle in ["fi", "exit 0", "A=1", "set -e", "a_b=\"$C\""] {
            assert!(is_idle(idle), "{idle}");
        }
        for busy in ["rm -rf x", "A=1 rm x", "A=$(rm x)", "A=1;rm", "mount=/x&"] {
            assert!(!is_idle(busy), "{busy}");
        }
    }

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
