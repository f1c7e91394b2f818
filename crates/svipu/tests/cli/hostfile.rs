//! `svipu hostfile`, with the variables that Slurm gives a job.

use std::fs;

use clap::Parser as _;
use svipu::{Arguments, Surroundings};

use super::{printed, surroundings};

/// What a command line prints in a job with these variables.
fn hostfile(line: &str, variables: &[(&str, &str)]) -> String {
    hostfile_in(line, variables, surroundings(&[]))
}

fn hostfile_in(line: &str, variables: &[(&str, &str)], mut around: Surroundings) -> String {
    around.variables.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
    let words = ["svipu", "hostfile"].into_iter().chain(line.split_whitespace());
    printed(&svipu::run(&Arguments::try_parse_from(words).unwrap(), &around))
}

/// The variables of a job on these nodes with these tasks.
fn job<'a>(nodes: &'a str, tasks: &'a str) -> [(&'a str, &'a str); 3] {
    [("SLURM_JOB_ID", "42"), ("SLURM_JOB_NODELIST", nodes), ("SLURM_TASKS_PER_NODE", tasks)]
}

#[test]
fn cli_svipu_hostfile_of_a_job() {
    let uneven = job("n[01-03,7],gpu-[1-2]x[3-4]", "2(x3),1,4(x4)");
    let array = [&job("n1", "3")[..], &[("SLURM_ARRAY_JOB_ID", "40"), ("SLURM_ARRAY_TASK_ID", "2")]].concat();
    let step = [&job("n[1-2]", "1")[..], &[("SLURM_NTASKS_PER_NODE", "8")]].concat();
    insta::assert_snapshot!(
        [
            hostfile("", &uneven),
            hostfile("42 --slots 16", &job("n[1-2]", "1")),
            hostfile("40_2", &array),
            hostfile("", &step),
        ]
        .join("\n")
    );
}

#[test]
fn cli_svipu_hostfile_refuses_with_the_reason() {
    let long = format!("n[{}1]", "1,".repeat(1 << 19));
    let wide = "n".repeat(1 << 20);
    let texts = [
        hostfile("", &[]),
        hostfile("42", &[]),
        hostfile("43", &job("n1", "1")),
        hostfile("", &job("n[1-2", "1")),
        hostfile("", &job("n[0-99999]", "1")),
        hostfile("", &job(&long, "1")),
        hostfile("", &job(&wide, "1")),
        hostfile("", &job("a\u{1b}[2J\u{202e}b", "1")),
        hostfile("", &job("a$(x)", "1")),
        hostfile("", &job(",", "1")),
        hostfile("", &job("n[1-2]", "1")),
        hostfile("", &job("n[1-2]", "1(x99999999999)")),
        hostfile("", &job("n[1-2]", "\u{1b}[2J")),
        hostfile("--json", &job("n1", "1")),
        hostfile("--mca", &job("n1.invalid,login", "1(x2)")),
    ];
    for text in &texts {
        assert!(text.lines().count() == 3 && text.len() < 600, "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");
    }
    // The resolver's words differ between systems.
    let known = texts.map(|text| text.split("n1.invalid: ").next().unwrap().to_owned());
    insta::assert_snapshot!(known.join("\n"));
}

#[test]
fn cli_svipu_hostfile_tells_the_network() {
    let both = |name: &str| format!("--mca oob_tcp_if_include {name} --mca btl_tcp_if_include {name}\n");
    let two = job("login,localhost", "1(x2)");
    assert_eq!(hostfile("--mca", &job("login", "4")), "");
    assert_eq!(hostfile("--mca", &[&job("n1", "4")[..], &[("SLURMD_NODENAME", "n1")]].concat()), "");
    assert_eq!(hostfile("--mca", &two), both("127.0.0.0/8"));
    assert_eq!(hostfile("--mca --interface eth1", &two), both("eth1"));
    let folder = tempfile::tempdir().unwrap();
    let around = || Surroundings { etc: folder.path().to_owned(), ..surroundings(&[]) };
    fs::write(folder.path().join("svipu.toml"), "interface = \"10.1.0.0/16\"\n").unwrap();
    assert_eq!(hostfile_in("--mca", &two, around()), both("10.1.0.0/16"));
    assert_eq!(hostfile_in("--mca --interface eth1", &two, around()), both("eth1"));
    fs::write(folder.path().join("svipu.toml"), "interface = \"eth0; x\"\n").unwrap();
    let error = hostfile_in("--mca", &two, around());
    assert!(error.contains("line 1: write the name of an interface"), "{error}");
}
