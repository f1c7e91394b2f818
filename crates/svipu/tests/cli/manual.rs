//! Examples, completions and man pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use clap::{CommandFactory as _, Parser as _};
use svipu::Arguments;

use super::documents::empty;
use super::{run, surroundings};

/// The visible commands.
fn commands() -> Vec<clap::Command> {
    let mut root = Arguments::command();
    // This gives the commands the options of all.
    root.build();
    let shown = |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "help";
    root.get_subcommands().filter(shown).cloned().collect()
}

#[test]
fn cli_svipu_examples_are_command_lines() {
    let of_commands =
        commands().into_iter().filter_map(|command| command.get_after_help().map(ToString::to_string));
    let text: Vec<_> =
        of_commands.chain(Arguments::command().get_after_help().map(ToString::to_string)).collect();
    let lines: Vec<_> =
        text.iter().flat_map(|text| text.lines()).filter_map(|line| line.strip_prefix("  ")).collect();
    let examples = lines.iter().filter(|line| line.starts_with("svipu"));
    // Three spaces begin a comment, and > a file.
    let examples: Vec<_> =
        examples.map(|line| line.split("   ").next().unwrap().split(" > ").next().unwrap()).collect();
    assert!(examples.len() > 20, "{examples:?}");
    for example in examples {
        Arguments::try_parse_from(example.split_whitespace())
            .unwrap_or_else(|why| panic!("{example}: {why}"));
    }
}

#[test]
fn cli_svipu_help_fits_a_terminal() {
    for mut command in commands() {
        let help = command.render_long_help().to_string();
        let widest = help.lines().max_by_key(|line| line.len()).unwrap();
        assert!(widest.len() <= 110, "{widest}");
    }
}

#[test]
fn cli_svipu_man_pages_are_written_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let output = run(&empty(), &format!("man {path}"));
    assert_eq!((output.exit, &*output.stdout, &*output.stderr), (0, "", ""));
    let files: BTreeSet<_> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let mut expected: BTreeSet<_> =
        commands().iter().map(|command| format!("svipu-{}.1", command.get_name())).collect();
    expected.insert("svipu.1".into());
    let missing: Vec<_> = expected.difference(&files).collect();
    assert!(missing.is_empty(), "{missing:?} of {files:?}");
    let why = fs::read_to_string(folder.path().join("svipu-why.1")).unwrap();
    assert!(why.contains("svipu why 42"), "{why}");

    let missing = run(&empty(), "man /dev/null/man");
    assert_eq!(missing.exit, 1);
    assert!(
        missing.stderr.contains("/dev/null/man: cannot write the man pages: Not a directory"),
        "{}",
        missing.stderr
    );
}

#[test]
fn cli_svipu_completions_need_no_document_and_are_taken_by_bash() {
    let script = |shell: &str| {
        let output =
            super::run_on(Path::new("/nonexistent"), &format!("completions {shell}"), &surroundings(&[]));
        assert_eq!(output.exit, 0, "{}", output.stderr);
        for word in ["why", "plan", "--noheader"] {
            assert!(output.stdout.contains(word.trim_start_matches('-')), "{shell}: {word}");
        }
        output.stdout
    };
    ["zsh", "fish"].iter().for_each(|shell| drop(script(shell)));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("svipu");
    fs::write(&file, script("bash")).unwrap();
    let bash = |words: &[&str]| Command::new("bash").args(words).arg(&file).output().unwrap();
    let checked = bash(&["-n"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    // What bash offers behind `svipu pl`.
    let offer =
        "source \"$0\"; COMP_WORDS=(svipu pl) COMP_CWORD=1; _svipu svipu pl svipu; echo \"${COMPREPLY[*]}\"";
    assert_eq!(String::from_utf8_lossy(&bash(&["-c", offer]).stdout), "plan\n");
}
