//! `svipu doctor`. The crate vipu-doctor tests the checks.

use std::fs;

use clap::Parser as _;
use insta::assert_snapshot;
use svipu::{Arguments, Surroundings};

use super::{printed, surroundings};

const SLURM_CONF: &str = "\
SlurmctldHost=ctl
PluginDir=/usr/lib/slurm
SelectType=select/vipu
GresTypes=vipu
JobSubmitPlugins=vipu
NodeName=n[1-4] Gres=vipu:pod64:64
PartitionName=ipu Nodes=ALL
";

/// The output of doctor on a login host with this slurm.conf.
fn doctor(text: &str, options: &str) -> String {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("etc/slurm")).unwrap();
    fs::write(root.path().join("etc/slurm/slurm.conf"), text).unwrap();
    let line = format!("svipu doctor {options}");
    let arguments = Arguments::try_parse_from(line.split_whitespace()).unwrap();
    let around = Surroundings { root: root.path().to_owned(), ..surroundings(&[]) };
    printed(&svipu::run(&arguments, &around))
}

#[test]
fn cli_doctor_prints_findings() {
    let runs = ["", "--noheader", "--color=always", "--json", "--slurm-conf=/none"];
    let run = |options: &&str| format!("$ svipu doctor {options}\n{}\n", doctor(SLURM_CONF, options));
    assert_snapshot!(runs.iter().map(run).collect::<String>());
}

#[test]
fn cli_doctor_takes_a_relative_path() {
    // The folder of the crate is that of the test.
    let folder = tempfile::tempdir_in(".").unwrap();
    fs::write(folder.path().join("slurm.conf"), SLURM_CONF).unwrap();
    let path = format!("{}/../{0}/slurm.conf", folder.path().file_name().unwrap().display());
    let arguments = Arguments::try_parse_from(["svipu", "doctor", "--slurm-conf", &path]).unwrap();
    let around = Surroundings { root: "/".into(), ..surroundings(&[]) };
    let text = printed(&svipu::run(&arguments, &around));
    assert!(text.contains("slurm.conf:6: Gres=vipu:pod64:64 of n[1-4] lacks no_consume"), "{text}");
}

#[test]
fn cli_doctor_hostile_names_are_safe() {
    let hostile = SLURM_CONF.replace("pod64", "\u{1b}[2J\u{202e}").replace("n[1-4]", &"n".repeat(1 << 16));
    assert_snapshot!(doctor(&hostile, "--noheader"));
}
