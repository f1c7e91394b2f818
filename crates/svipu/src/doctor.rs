//! `svipu doctor`: what this installation gets wrong.

use std::path::{Path, PathBuf};

use vipu_doctor::{Examination, Finding, Host, Level};

use crate::arguments::Common;
use crate::error::Failure;
use crate::page::Tone;
use crate::read_document::Source;
use crate::surroundings::Surroundings;
use crate::svipu_toml::Configuration;
use crate::{Output, find_document, safe, view};

/// The greatest width of a subject.
const WIDEST: usize = 100;

/// Examines this host. The findings decide the [`exit_status`].
pub(crate) fn run(
    slurm_conf: Option<&Path>,
    common: &Common,
    surroundings: &Surroundings,
    output: &mut Output,
) -> Result<String, Failure> {
    let named = slurm_conf.map(Path::to_owned);
    let named = named.or_else(|| surroundings.variable("SLURM_CONF").map(PathBuf::from));
    // The paths of the files beside it go on from there.
    let named = named.map(|path| std::path::absolute(&path).unwrap_or(path));
    let configured = Configuration::read(surroundings).ok().and_then(|it| it.status);
    let host = Host {
        root: surroundings.root.clone(),
        name: surroundings.host.clone(),
        now: surroundings.now,
        slurm_conf: named,
        // Without a document that svipu finds, that of slurmctld on this host counts.
        status: match find_document::find(common.status.as_deref(), configured.as_deref(), surroundings) {
            Ok(Source::File(path)) => Some(path),
            _ => None,
        },
        sacctmgr: "sacctmgr".into(),
        user_id: Box::new(|name| surroundings.users.id(name)),
        in_group: vipu_doctor::in_group,
        groups: vipu_doctor::groups,
    };
    let found = vipu_doctor::examine(&host);
    output.exit = exit_status(&found);
    match common.json {
        true => Ok(serde_json::to_string_pretty(&found)? + "\n"),
        false => Ok(page(&found, common, surroundings)),
    }
}

/// 2 with an error, 1 with a warning, 0 otherwise.
fn exit_status(found: &Examination) -> u8 {
    match found.count(Level::Error) {
        0 => u8::from(found.count(Level::Warning) > 0),
        _ => 2,
    }
}

fn page(found: &Examination, common: &Common, surroundings: &Surroundings) -> String {
    let mut page = view::blank_page(common, surroundings);
    let header = !common.noheader;
    if header {
        let roles = found.roles.join(" and ");
        let slurm = found.slurm.as_ref().map(|release| format!("Slurm {release}"));
        let facts = [Some(roles).filter(|roles| !roles.is_empty()), found.slurm_conf.clone(), slurm];
        let facts: Vec<_> = facts.into_iter().flatten().collect();
        let colon = if facts.is_empty() { "" } else { ": " };
        page.toned(&[(Tone::Dim, &format!("{}{colon}{}", found.host, facts.join(", ")))]);
    }
    for finding in &found.findings {
        let level = format!("{:<9}", finding.level.name());
        let subject = safe::cut(&finding.subject, WIDEST);
        // A long name must not hide the fix.
        let rest = format!(": {}; {}", safe::cut(&finding.what, 2 * WIDEST), finding.fix);
        page.toned(&[(tone(finding), &level), (Tone::Bold, &subject), (Tone::Plain, &rest)]);
    }
    if header {
        page.line(&summary(found));
    }
    page.finish()
}

fn tone(finding: &Finding) -> Tone {
    match finding.level {
        Level::Error => Tone::Alarm,
        Level::Warning => Tone::Yellow,
        Level::Hint => Tone::Dim,
    }
}

fn summary(found: &Examination) -> String {
    let count = |level: Level| match found.count(level) {
        0 => None,
        1 => Some(format!("1 {}", level.name())),
        number => Some(format!("{number} {}s", level.name())),
    };
    let counts: Vec<_> = [Level::Error, Level::Warning, Level::Hint].into_iter().filter_map(count).collect();
    match counts.is_empty() {
        true => "nothing is wrong".to_owned(),
        false => counts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_doctor_exit_status_is_that_of_the_worst_finding() {
        use Level::{Error, Hint, Warning};
        let finding = |level: &Level| Finding {
            level: *level,
            subject: String::new(),
            what: String::new(),
            fix: String::new(),
        };
        let exit = |levels: &[Level]| {
            let findings = levels.iter().map(finding).collect();
            exit_status(&Examination { findings, ..Examination::default() })
        };
        let levels: [&[Level]; 4] = [&[], &[Hint], &[Warning, Hint], &[Error, Warning]];
        assert_eq!(levels.map(exit), [0, 0, 1, 2]);
    }
}
