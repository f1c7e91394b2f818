//! `svipu conf`: checks, shows and writes the configuration of slurm-vipu.

mod generate;
mod show;

use std::collections::BTreeMap;
use std::path::PathBuf;

use vipu_conf::{Good, KEYS, LoadError, Reason, against_nodes, error_beside, load_file, load_offered};
use vipu_types::ModelName;

use crate::Output;
use crate::arguments::Common;
use crate::arguments::options::Conf;
use crate::error::Failure;
use crate::page::{Page, Tone};
use crate::slurm_files::{Models, folder, read_slurm_conf, slurm_conf_path};
use crate::surroundings::Surroundings;
use crate::view::blank_page;

/// Carries out a command.
pub(crate) fn run(
    command: &Conf,
    common: &Common,
    surroundings: &Surroundings,
    output: &mut Output,
) -> Result<String, Failure> {
    match command {
        Conf::Check { files } if files.is_empty() => check_installed(common, surroundings, output),
        Conf::Check { files } => Ok(check_files(files, common, surroundings, output)),
        Conf::Show => show::show(common, surroundings, output),
        Conf::Generate(options) => generate::generate(options, common.model.as_deref()),
    }
}

/// Checks the files that a slurmctld on this host would read.
fn check_installed(
    common: &Common,
    surroundings: &Surroundings,
    output: &mut Output,
) -> Result<String, Failure> {
    let path = slurm_conf_path(surroundings);
    let models = Models::of(&read_slurm_conf(&path)?);
    let mut report = Report::new(common, surroundings);
    report.errors = models.errors.len();
    models.errors.iter().for_each(|error| report.error(error));
    if models.offered.0.is_empty() && report.errors == 0 {
        report.errors += 1;
        report.error(&format!(
            "{}: no node offers IPUs: add Gres=vipu:<model>:no_consume:<IPUs> to the nodes that reach a Pod",
            path.display()
        ));
    }
    let loaded = load_offered(folder(&path), &models.offered);
    let beside = error_beside(folder(&path), &loaded);
    let good = loaded.iter().filter_map(|(model, file)| Some((model, file.as_ref().ok()?)));
    let against = |(model, file): (&ModelName, &Good)| {
        let found = against_nodes(model, &file.settings, &models.nodes);
        found
            .into_iter()
            .map(|line| format!("{} (model {model}): {line}", file.path.display()))
            .collect::<Vec<_>>()
    };
    let mismatches: Vec<_> = good.flat_map(against).collect();
    report.models(loaded);
    report.errors += mismatches.len();
    mismatches.iter().for_each(|line| report.error(line));
    if let Some(why) = beside {
        report.broken(&why, &[]);
        report.page.line("no model reads this file, but Layer and AdminSocket are read from it");
    }
    Ok(report.finish(output))
}

/// Checks these files, wherever they are.
fn check_files(
    files: &[PathBuf],
    common: &Common,
    surroundings: &Surroundings,
    output: &mut Output,
) -> String {
    let mut report = Report::new(common, surroundings);
    for file in files {
        match load_file(file) {
            Ok(good) => report.page.line(&format!("{}: no errors", good.path.display())),
            Err(why) => report.broken(&why, &[]),
        }
    }
    report.finish(output)
}

struct Report {
    page: Page,
    errors: usize,
    /// Whether one of the errors is an unknown key.
    has_unknown_key: bool,
}

impl Report {
    fn new(common: &Common, surroundings: &Surroundings) -> Self {
        Self { page: blank_page(common, surroundings), errors: 0, has_unknown_key: false }
    }

    /// Adds the files of models. Models that share a file share its lines.
    fn models(&mut self, loaded: BTreeMap<ModelName, Result<Good, LoadError>>) {
        let mut good = BTreeMap::<PathBuf, Vec<ModelName>>::new();
        let mut broken = Vec::<(String, LoadError, Vec<ModelName>)>::new();
        for (model, file) in loaded {
            match file {
                Ok(file) => good.entry(file.path).or_default().push(model),
                Err(why) => match broken.iter_mut().find(|(text, ..)| *text == why.to_string()) {
                    Some((.., models)) => models.push(model),
                    None => broken.push((why.to_string(), why, vec![model])),
                },
            }
        }
        for (path, models) in good {
            self.page.line(&format!("{}: no errors ({})", path.display(), listed(&models)));
        }
        broken.iter().for_each(|(_, why, models)| self.broken(why, models));
    }

    fn broken(&mut self, why: &LoadError, models: &[ModelName]) {
        let problems = match why {
            LoadError::Broken(broken) => broken.problems.as_slice(),
            _ => &[],
        };
        self.errors += problems.len().max(1);
        self.has_unknown_key |=
            problems.iter().any(|problem| matches!(problem.reason, Reason::UnknownKey { .. }));
        self.error(&why.to_string());
        if !models.is_empty() {
            let (keeps, its) = if models.len() == 1 { ("keeps its", "its") } else { ("keep their", "their") };
            let line = format!("{} {keeps} earlier settings; without any, {its} jobs wait", listed(models));
            self.page.line(&line);
        }
    }

    /// Adds an error, whose first line is in colour.
    fn error(&mut self, text: &str) {
        for (index, line) in text.lines().enumerate() {
            let tone = if index == 0 { Tone::Red } else { Tone::Plain };
            self.page.toned(&[(tone, line)]);
        }
    }

    fn finish(mut self, output: &mut Output) -> String {
        output.exit = u8::from(self.errors > 0);
        if self.has_unknown_key {
            let names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
            let lines: Vec<_> = names.chunks(8).map(|names| names.join(", ")).collect();
            let list = format!("the keys are {}", lines.join(",\n  "));
            list.lines().for_each(|line| self.page.line(line));
        }
        match self.errors {
            0 => {}
            1 => self.page.line("1 error"),
            errors => self.page.line(&format!("{errors} errors")),
        }
        self.page.finish()
    }
}

/// The models in words.
fn listed(models: &[ModelName]) -> String {
    let names: Vec<_> = models.iter().map(ModelName::as_str).collect();
    format!("{} {}", if names.len() == 1 { "model" } else { "models" }, names.join(", "))
}
