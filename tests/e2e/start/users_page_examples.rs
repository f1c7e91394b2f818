//! The examples of the pages for users, in English and French, which run exactly as they are printed.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};
use testbed::Cluster;

use crate::{jobs::ended, quick};

/// The pages, with the heading above their examples.
const PAGES: [(&str, &str); 2] = [
    (include_str!("../../../docs/users.md"), "## Six examples"),
    (include_str!("../../../docs/fr/utilisateurs.md"), "## Six exemples"),
];

/// Replaces the programs that the examples start: notes its name and the variables that it got.
const PROGRAM: &str = r#"#!/bin/bash
[ -r "$IPUOF_CONFIG_PATH" ] || { echo no IPUoF file; exit 1; }
echo "${0##*/} $SLURM_VIPU_IPUS IPUs, GCD $SLURM_VIPU_GCD of $SLURM_VIPU_GCDS" > "$(mktemp "$RAN/XXXXXX")"
"#;

/// An example: its heading, its scripts and the lines to type.
struct Example {
    heading: &'static str,
    scripts: Vec<(&'static str, &'static str)>,
    typed: Vec<&'static str>,
}

fn examples((page, above): (&'static str, &str)) -> Result<Vec<Example>> {
    let part = page.split(above).nth(1).and_then(|rest| rest.split("\n## ").next());
    part.context("the page has no examples")?.split("\n### ").skip(1).map(example).collect()
}

fn example(text: &'static str) -> Result<Example> {
    let mut blocks = text.split("```");
    let heading =
        blocks.next().and_then(|text| text.lines().next()).context("an example without a heading")?;
    let (mut scripts, mut typed) = (Vec::new(), Vec::new());
    for block in blocks {
        if let Some(script) = block.strip_prefix("sh\n") {
            let name = script.lines().nth(1).and_then(|line| line.strip_prefix("# "));
            scripts.push((name.with_context(|| format!("a script without a name: {script}"))?, script));
        } else if let Some(console) = block.strip_prefix("console\n") {
            typed.extend(console.lines().filter_map(|line| line.strip_prefix("$ ")));
        }
    }
    Ok(Example { heading, scripts, typed })
}

/// Types the lines of the example. The lines after a salloc go to its shell.
fn play(cluster: &Cluster, example: &Example) -> Result<()> {
    let home = cluster.layout().jobs();
    for (name, script) in &example.scripts {
        fs::write(home.join(name), script)?;
    }
    let ran = home.join("ran");
    let (bin, path) = (home.join("bin"), std::env::var("PATH")?);
    fs::create_dir_all(&ran)?;
    let (first, rest) = example.typed.split_first().context("nothing is typed")?;
    let line = if rest.is_empty() {
        (*first).to_owned()
    } else {
        format!("{first} <<'END'\n{}\nEND", rest.join("\n"))
    };
    let shell = cluster.command("bash").args(&["-c", &line]);
    shell
        .env("PATH", &format!("{}:{path}", bin.display()))
        .env("RAN", &ran.display().to_string())
        .success()?;
    Ok(())
}

/// Returns the notes of the programs, once all jobs have completed.
fn outcome(cluster: &Cluster) -> Result<Vec<String>> {
    for job in cluster.jobs()? {
        ended(cluster, job.id, "COMPLETED")?;
    }
    let ran = cluster.layout().jobs().join("ran");
    let notes = fs::read_dir(&ran)?.map(|note| Ok(fs::read_to_string(note?.path())?.trim().to_owned()));
    let mut notes: Vec<_> = notes.collect::<Result<_>>()?;
    notes.sort_unstable();
    fs::remove_dir_all(ran)?;
    Ok(notes)
}

#[test]
fn user_examples_of_the_page_run() -> Result<()> {
    // One IPU, sixteen, an array, two nodes, a session, Jupyter.
    let wanted: [&[&str]; 6] = [
        &["python3 1 IPUs, GCD 0 of 1"],
        &["python3 16 IPUs, GCD 0 of 1"],
        &["python3 2 IPUs, GCD 0 of 1"; 4],
        &["poprun 16 IPUs, GCD 0 of 2", "python3 16 IPUs, GCD 0 of 2", "python3 16 IPUs, GCD 1 of 2"],
        &["python3 4 IPUs, GCD 0 of 1"],
        &["jupyter 4 IPUs, GCD 0 of 1"],
    ];
    quick().nodes(2).slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        let bin = cluster.layout().jobs().join("bin");
        fs::create_dir(&bin)?;
        for program in ["python3", "poprun", "jupyter"] {
            fs::write(bin.join(program), PROGRAM)?;
            fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755))?;
        }
        for page in PAGES {
            let examples = examples(page)?;
            ensure!(examples.len() == wanted.len(), "{} examples below {}", examples.len(), page.1);
            for (example, notes) in examples.iter().zip(wanted) {
                let heading = example.heading;
                play(cluster, example).context(heading)?;
                let ran = outcome(cluster).context(heading)?;
                ensure!(ran == notes, "{heading}: {ran:?}");
            }
        }
        Ok(())
    })
}
