//! `svipu limits`, with a scontrol that prints a text.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use clap::Parser as _;
use insta::assert_snapshot;
use svipu::Arguments;

use super::{printed, surroundings};

/// What Slurm 22.05.8 printed about a user with a running and a waiting job.
const TEXT: &str = include_str!("assoc_mgr_22.05.txt");

/// The text as Slurm prints it from 23.11 to 26.05, by its source.
fn since_23_11() -> String {
    let run_minutes = |kind: &str, line: &str, limit: &str| {
        let used =
            format!("\n        MaxTRESRunMins{kind}=cpu=N(9),gres/vipu={limit}(157),gres/vipu:pod64=N(157)");
        (line.to_owned(), line.to_owned() + &used)
    };
    let of = |kind: &'static str| TEXT.lines().filter(move |line| line.contains(&format!("MaxTRES{kind}=")));
    let lines = of("PA").map(|line| run_minutes("PA", line, "N"));
    let lines: Vec<_> = lines.chain(of("PU").map(|line| run_minutes("PU", line, "6000"))).collect();
    let mut text =
        TEXT.replace(" Lft=", " Lineage=/science/lab/").replace("      1000\n", "      alice(1000)\n");
    text = text.replace("    MinPrioThresh=\n", "    MinPrioThresh=\n    Comment=\n");
    lines.iter().fold(text, |text, (old, new)| text.replacen(&format!("{old}\n"), &format!("{new}\n"), 1))
}

/// The output of a command line on a host whose scontrol prints these texts and ends so.
fn limits_of(line: &str, stdout: &str, stderr: &str, exit: u8) -> String {
    let folder = tempfile::tempdir().unwrap();
    let [scontrol, text, errors] = ["scontrol", "text", "errors"].map(|name| folder.path().join(name));
    fs::write(&text, stdout).unwrap();
    fs::write(&errors, stderr).unwrap();
    let script =
        format!("#!/bin/sh\n/bin/cat {}; /bin/cat {} >&2; exit {exit}\n", text.display(), errors.display());
    fs::write(&scontrol, script).unwrap();
    fs::set_permissions(&scontrol, Permissions::from_mode(0o755)).unwrap();
    let arguments = Arguments::try_parse_from(line.split_whitespace()).unwrap();
    printed(&svipu::run(&arguments, &surroundings(&[("PATH", folder.path())])))
}

fn limits(line: &str, text: &str) -> String {
    format!("$ {line}\n{}\n", limits_of(line, text, "", 0))
}

#[test]
fn cli_limits_of_a_user() {
    let lines = [
        "svipu limits",
        "svipu limits 1000 --noheader -o limit,tres,left",
        "svipu limits -u alice -M pod16",
        "svipu limits alice --json -M pod16",
        "svipu limits alice -o limit,size",
    ];
    assert_snapshot!(lines.map(|line| limits(line, TEXT)).concat());
}

#[test]
fn cli_limits_are_read_of_all_releases() {
    let newer = limits("svipu limits alice", &since_23_11());
    let is_new = |line: &&str| line.contains("MaxTRESRunMinsPerUser");
    assert_eq!(newer.lines().filter(is_new).count(), 2, "{newer}");
    let words = |text: &str| {
        let lines = text.lines().filter(|line| !is_new(line));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(words(&newer), words(&limits("svipu limits alice", TEXT)));
}

#[test]
fn cli_limits_of_others_hold_for_a_user_without_jobs() {
    let bob = TEXT.replace("UserName=alice(1000)", "UserName=bob(1001)");
    let text = limits("svipu limits bob -o where,limit,value,used", &bob);
    assert!(text.contains("QOS normal                MaxTRESPerUser         32     0\n"), "{text}");
}

#[test]
fn cli_limits_are_on_licences_too() {
    let text = TEXT.replace("gres/vipu:pod64", "license/vipu_pod64").replace("gres/vipu", "license/vipu");
    let lines = ["svipu limits", "svipu limits -M pod64", "svipu limits -M pod16"];
    let shown = lines
        .map(|line| limits(line, &text).replace("license/vipu_", "gres/vipu:").replace("license", "gres"));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for (line, shown) in lines.iter().zip(shown) {
        assert_eq!(words(&shown), words(&limits(line, TEXT)));
    }
}

#[test]
fn cli_limits_that_are_not_there_or_hidden() {
    let none = TEXT.replace("=64(", "=N(").replace("=600000(", "=N(").replace("=120000(", "=N(");
    let none = none.replace("=32(", "=N(").replace("=24(", "=N(").replace("=9(", "=N(");
    let none = ["48", "16", "44", "4"]
        .iter()
        .fold(none, |text, limit| text.replace(&format!("=gres/vipu={limit}\n"), "=\n"));
    let (before, rest) = TEXT.split_once("ClusterName=linux Account=root").unwrap();
    let own = rest.find("ClusterName=linux Account=lab UserName=alice").unwrap();
    let hidden = format!("{before}{}", &rest[own..]);
    assert_snapshot!(
        [
            limits("svipu limits", &none),
            limits("svipu limits --json", &none),
            limits("svipu limits", &hidden),
        ]
        .concat()
    );
}

#[test]
fn cli_limits_that_nobody_tells() {
    let away = "slurm_load_assoc_mgr_info error: Unable to contact slurm controller (connect failure)\n";
    let forbidden = "scontrol: error: Malformed RPC\nslurm_load_assoc_mgr_info error: Unspecified error\n";
    let nothing = "Current Association Manager state\n\nNo associations currently cached in Slurm.\n\n\n\
                   No QOS currently cached in Slurm.\n\n";
    let uncounted = TEXT.replace(",gres/vipu", ",license/vipus").replace("=gres/vipu", "=gres/gpu");
    let alone = surroundings(&[("PATH", std::path::Path::new("/nonexistent"))]);
    let arguments = Arguments::try_parse_from(["svipu", "limits"]).unwrap();
    let texts = [
        printed(&svipu::run(&arguments, &alone)),
        limits_of("svipu limits", "", away, 1),
        limits_of("svipu limits", "", forbidden, 1),
        limits_of("svipu limits", "", "", 0),
        limits("svipu limits", nothing),
        limits("svipu limits", &uncounted),
        limits("svipu limits bob", TEXT),
        limits("svipu limits 4711", TEXT),
    ];
    assert_snapshot!(texts.join("\n"));
}

#[test]
fn cli_limits_hostile_names_are_safe() {
    let hostile = "\u{1b}[2J\u{202e}";
    let text = TEXT.replace("lab", hostile).replace("QOS=unused", &format!("QOS={hostile}"));
    let text = text
        .replace("gres/vipu:pod64=", &format!("gres/vipu:{hostile}="))
        .replace("science", &"s".repeat(1 << 16));
    let texts = [
        limits("svipu limits", &text),
        limits("svipu limits", "\u{1b}[2J\nClusterName=\nQOS=\n"),
        limits_of("svipu limits", "", &format!("{hostile}{}", "x".repeat(1 << 16)), 1),
    ];
    for text in &texts {
        assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");
        assert!(text.lines().all(|line| line.len() < 500), "{text}");
    }
    assert_snapshot!(texts.concat());
}
