//! The healthy host with a wrong file of slurmctld, slurmd or systemd: exactly one finding.

use std::fs;

use insta::assert_snapshot;

use super::tree::journal;
use super::ways::{SLURM, VIPU, each_has_one_finding, unchanged};

const GRES: &str = "/etc/slurm/gres.conf";
const JOURNAL: &str = "/var/spool/slurmctld/vipu_journal";
const UNIT: &str = "/lib/systemd/system/slurmd.service";
const DROP_IN: &str = "/etc/systemd/system/slurmd.service.d/limits.conf";

#[test]
fn cli_doctor_journal_is_wrong() {
    let lines = each_has_one_finding(&[
        ("newer", |tree| tree.write(JOURNAL, journal(3)), unchanged),
        ("no journal", |tree| tree.write(JOURNAL, "text\n"), unchanged),
        ("damaged", |tree| tree.write(JOURNAL, journal(2) + "01234567 {}\n{}\n"), unchanged),
        (
            "no fsync",
            |_| (),
            |facts| {
                let journal = facts.state.as_mut().and_then(|state| state.journal.as_mut()).unwrap();
                journal.not_durable = Some("Invalid argument (os error 22)".into());
            },
        ),
        ("read-only", |_| (), |facts| facts.state.iter_mut().for_each(|state| state.is_read_only = true)),
        ("no inodes", |_| (), |facts| facts.state.iter_mut().for_each(|state| state.lacks_inodes = true)),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_gres_conf_is_wrong() {
    let lines = each_has_one_finding(&[
        ("device", |tree| tree.write(GRES, "\nNodeName=n01 name=vipu file=/dev/ipu[0-3]\n"), unchanged),
        ("count only", |tree| tree.write(GRES, "Name=vipu Type=pod64 Count=64 Flags=CountOnly"), unchanged),
        ("not needed", |tree| tree.write(GRES, "Name=vipu Type=pod64 Count=64"), unchanged),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_slurmd_unit_is_wrong() {
    let lines = each_has_one_finding(&[
        ("not given", |tree| tree.replace(UNIT, "LimitMEMLOCK", "#LimitMEMLOCK"), unchanged),
        ("little", |tree| tree.replace(UNIT, "infinity", "8M"), unchanged),
        ("little at first", |tree| tree.replace(UNIT, "infinity", "65536:infinity"), unchanged),
        ("drop-in", |tree| tree.write(DROP_IN, "[Service]\nLimitMEMLOCK=64M\n"), unchanged),
        ("taken back", |tree| tree.write(DROP_IN, "[Service]\nLimitMEMLOCK=\n"), unchanged),
        (
            "the last drop-in counts",
            |tree| {
                tree.write(DROP_IN, "[Service]\nLimitMEMLOCK=infinity\n");
                tree.write(&DROP_IN.replace("/limits", "/override"), "[Service]\nLimitMEMLOCK=1G\n");
                tree.write(&DROP_IN.replace("/limits", "/site"), "[Service]\nLimitMEMLOCK=1023M\n");
            },
            unchanged,
        ),
        (
            "a drop-in of the package that is hidden",
            |tree| {
                tree.write(&DROP_IN.replace("/etc", "/usr/lib"), "LimitMEMLOCK=infinity\n");
                tree.write(DROP_IN, "LimitMEMLOCK=1K\n");
            },
            unchanged,
        ),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_status_files_are_wrong() {
    let lines = each_has_one_finding(&[
        ("no directory", |tree| fs::remove_dir(tree.path("/shared/status")).unwrap(), unchanged),
        ("closed", |tree| tree.chmod("/shared/status", 0o700), unchanged),
        ("open", |tree| tree.chmod("/shared/status", 0o777), unchanged),
        (
            "of others",
            |tree| tree.host.user_id = Box::new(|_| Some(77)),
            |facts| {
                facts.secrets.clear();
                facts.directories.clear();
                facts.admin_socket = None;
            },
        ),
        ("no group", |tree| tree.replace(VIPU, "Group=ipus", "Group=ipsu"), unchanged),
        ("not in the group", |tree| tree.replace(VIPU, "Group=ipus", "Group=others"), unchanged),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_admin_socket_is_wrong() {
    let lines = each_has_one_finding(&[
        ("no directory", |tree| tree.replace(SLURM, "/run/slurm/", "/run/slum/"), unchanged),
        (
            "too long",
            |tree| tree.replace(SLURM, "/run/slurm/", &format!("/run/{}/", "x".repeat(80))),
            unchanged,
        ),
        (
            "of others",
            |tree| tree.host.user_id = Box::new(|_| Some(77)),
            |facts| {
                facts.secrets.clear();
                facts.directories.clear();
                facts.status_dirs.clear();
            },
        ),
        ("own path", |tree| tree.replace(VIPU, "IpuofDir", "AdminSocket=/absent/s\nIpuofDir"), unchanged),
    ]);
    assert_snapshot!(lines);
}
