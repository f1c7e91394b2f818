//! Checks the command lines of all pages: svipu, slurm-vipu-setup and `cargo xtask` have their commands and options.
//!
//! Nothing is run. A word such as PARTITION or `42` stands for a value. Not seen are command lines of other programs, the
//! words behind `--` (which another program gets), and a program behind further words, as in `docker exec`.

use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory as _};

use crate::{Task, page_links};

/// A piece of code of a page.
struct Code {
    text: String,
    /// Whether it stands in a sentence, which may name a command without its arguments.
    is_inline: bool,
}

/// The lines of blocks of code, and the code in sentences. Diagrams and messages are left out.
fn code(page: &str) -> impl Iterator<Item = Code> {
    let (mut code, mut sentences, mut is_fenced) = (Vec::new(), String::new(), false);
    let piece = |text: &str, is_inline| Code { text: text.replace('\n', " "), is_inline };
    for line in page.replace("\\\n", " ").lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if is_fenced {
            code.push(piece(line, false));
        } else {
            sentences.push_str(line);
            sentences.push('\n');
        }
    }
    for paragraph in sentences.split("\n\n") {
        // A paragraph within a list is indented as well. Its lines do not begin with a program.
        if paragraph.trim_start_matches('\n').starts_with("    ") {
            code.extend(paragraph.lines().map(|line| piece(line, false)));
        }
        code.extend(paragraph.split('`').skip(1).step_by(2).map(|text| piece(text, true)));
    }
    code.into_iter().filter(|code| !code.text.contains('►') && !code.text.contains(": "))
}

/// The command lines of ours in a piece of code, with the definition of the program.
fn command_lines(code: &str) -> Vec<(Command, Vec<String>)> {
    let apart = code.replace("\"$(", " ; ").replace(")\"", " ; ").replace("$(", " ; ");
    let apart = apart.replace([')', '|', ';', '>'], " ; ");
    let words = shlex::split(&apart).unwrap_or_default();
    let commands = words.split(|word| [";", "&&", "--"].contains(&word.as_str()));
    let ours = commands.filter_map(|words| {
        let is_before = |word: &String| ["$", "sudo"].contains(&word.as_str()) || is_assignment(word);
        let words: Vec<_> = words.iter().skip_while(|word| is_before(word)).collect();
        let (command, rest) = match words.as_slice() {
            [name, rest @ ..] if *name == "svipu" => (svipu::Arguments::command(), rest),
            [name, rest @ ..] if *name == "slurm-vipu-setup" => (vipu_setup::command(), rest),
            [cargo, name, rest @ ..] if *cargo == "cargo" && *name == "xtask" => (Task::command(), rest),
            _ => return None,
        };
        // `[FILTER]` may be left out.
        Some((command, rest.iter().map(|word| word.trim_matches(['[', ']']).to_owned()).collect()))
    });
    ours.collect()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c == '_' || c.is_ascii_uppercase()))
}

/// Whether the words are names of commands only.
fn is_name(command: &Command, words: &[String]) -> bool {
    let Some((first, rest)) = words.split_first() else { return true };
    command.find_subcommand(first).is_some_and(|command| is_name(command, rest))
}

/// The command with options that take any text: `N` and `MODEL` stand for values.
fn with_any_values(command: Command) -> Command {
    let any_value = |arg: Arg| {
        if arg.get_action().takes_values() { arg.value_parser(ValueParser::os_string()) } else { arg }
    };
    command.mut_args(any_value).mut_subcommands(with_any_values)
}

/// What is wrong with a command line.
fn fault(command: &Command, words: &[String], is_inline: bool) -> Option<ErrorKind> {
    let line = std::iter::once("program").chain(words.iter().map(String::as_str));
    match with_any_values(command.clone()).try_get_matches_from(line).err()?.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        // A sentence may name an option without its value.
        ErrorKind::InvalidValue if is_inline => None,
        _ if is_inline && is_name(command, words) => None,
        kind => Some(kind),
    }
}

/// The number of command lines of a page, and the wrong ones.
fn check(page: &str) -> (usize, Vec<String>) {
    let lines = |code: Code| command_lines(&code.text).into_iter().map(move |line| (line, code.is_inline));
    let lines: Vec<_> = code(page).flat_map(lines).collect();
    let wrong = lines.iter().filter_map(|((command, words), is_inline)| {
        let kind = fault(command, words, *is_inline)?;
        Some(format!("{} {}: {kind}", command.get_name(), words.join(" ")))
    });
    (lines.len(), wrong.collect())
}

#[test]
fn cli_commands_of_all_pages_exist() {
    let (mut count, mut faults) = (0, Vec::new());
    for (path, text) in page_links::texts() {
        let (lines, wrong) = check(&text);
        count += lines;
        faults.extend(wrong.into_iter().map(|wrong| format!("{}: {wrong}", path.display())));
    }
    assert!(count > 400, "{count} command lines");
    assert!(faults.is_empty(), "of {count} command lines:\n{}", faults.join("\n"));
}

#[test]
fn cli_wrong_commands_of_a_page_are_found() {
    let wrong = |page| check(page).1.len();
    for page in ["    svipu why 42 --made-up\n", "```\n$ svipu made-up\n```\n", "    svipu drain pod64\n"] {
        assert_eq!(wrong(page), 1, "{page}");
    }
    assert_eq!(
        wrong("Run `slurm-vipu-setup leave\n--made-up`, `cargo xtask made-up` and `svipu drain x`.\n"),
        3
    );
    assert_eq!(wrong("    svipu drain MODEL --hours N --made-up\n"), 1);
    assert_eq!(wrong("Run `eval \"$(svipu made-up)\"`.\n"), 1);
    let right =
        "* `svipu drain`:\n\n      X=1 svipu drain MODEL --reason \\\n        TEXT > file  # as above\n";
    assert_eq!(check(right), (2, vec![]));
}
