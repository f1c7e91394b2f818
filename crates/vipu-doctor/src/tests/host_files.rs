//! The healthy host with a wrong file of slurmctld, slurmd or systemd: exactly one finding.

use std::fs;

use insta::assert_snapshot;

use super::tree::{SLURM, VIPU, each_has_one_finding, journal};

const GRES: &str = "/etc/slurm/gres.conf";
const JOURNAL: &str = "/var/spool/slurmctld/vipu_journal";
const UNIT: &str = "/lib/systemd/system/slurmd.service";
const DROP_IN: &str = "/etc/systemd/system/slurmd.service.d/limits.conf";

#[test]
fn cli_doctor_journal_is_wrong() {
    let lines = each_has_one_finding(&[
        ("newer", |tree| tree.write(JOURNAL, journal(3))),
        ("no journal", |tree| tree.write(JOURNAL, "text\n")),
        ("damaged", |tree| tree.write(JOURNAL, journal(2) + "01234567 {}\n{}\n")),
        ("no fsync", |tree| {
            tree.facts = |facts| {
                let journal = facts.state.as_mut().and_then(|state| state.journal.as_mut()).unwrap();
                journal.not_durable = Some("Invalid argument (os error 22)".into());
            }
        }),
        ("read-only", |tree| tree.facts = |facts| facts.state.as_mut().unwrap().is_read_only = true),
        ("no inodes", |tree| tree.facts = |facts| facts.state.as_mut().unwrap().lacks_inodes = true),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_gres_conf_is_wrong() {
    let lines = each_has_one_finding(&[
        ("device", |tree| tree.write(GRES, "\nNodeName=n01 name=vipu file=/dev/ipu[0-3]\n")),
        ("count only", |tree| tree.write(GRES, "Name=vipu Type=pod64 Count=64 Flags=CountOnly")),
        ("not needed", |tree| tree.write(GRES, "Name=vipu Type=pod64 Count=64")),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_slurmd_unit_is_wrong() {
    let lines = each_has_one_finding(&[
        ("not given", |tree| tree.replace(UNIT, "LimitMEMLOCK", "#LimitMEMLOCK")),
        ("little", |tree| tree.replace(UNIT, "infinity", "8M")),
        ("little at first", |tree| tree.replace(UNIT, "infinity", "65536:infinity")),
        ("drop-in", |tree| tree.write(DROP_IN, "[Service]\nLimitMEMLOCK=64M\n")),
        ("taken back", |tree| tree.write(DROP_IN, "[Service]\nLimitMEMLOCK=\n")),
        ("the last drop-in counts", |tree| {
            tree.write(DROP_IN, "[Service]\nLimitMEMLOCK=infinity\n");
            tree.write(&DROP_IN.replace("/limits", "/override"), "[Service]\nLimitMEMLOCK=1G\n");
            tree.write(&DROP_IN.replace("/limits", "/site"), "[Service]\nLimitMEMLOCK=1023M\n");
        }),
        ("a drop-in of the package that is hidden", |tree| {
            tree.write(&DROP_IN.replace("/etc", "/usr/lib"), "LimitMEMLOCK=infinity\n");
            tree.write(DROP_IN, "LimitMEMLOCK=1K\n");
        }),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_status_files_are_wrong() {
    let lines = each_has_one_finding(&[
        ("no directory", |tree| fs::remove_dir(tree.path("/shared/status")).unwrap()),
        ("closed", |tree| tree.chmod("/shared/status", 0o700)),
        ("open", |tree| tree.chmod("/shared/status", 0o777)),
        ("of others", |tree| {
            tree.host.user_id = Box::new(|_| Some(77));
            tree.facts = |facts| {
                facts.secrets.clear();
                facts.directories.clear();
                facts.admin_socket = None;
            }
        }),
        ("earlier requests", |tree| fs::create_dir(tree.path("/shared/status/vipu_requests.test")).unwrap()),
        ("no group", |tree| tree.replace(VIPU, "Group=ipus", "Group=ipsu")),
        ("not in the group", |tree| tree.replace(VIPU, "Group=ipus", "Group=others")),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_admin_socket_is_wrong() {
    let lines = each_has_one_finding(&[
        ("no directory", |tree| tree.replace(SLURM, "/run/slurm/", "/run/slum/")),
        ("too long", |tree| tree.replace(SLURM, "/run/slurm/", &format!("/run/{}/", "x".repeat(80)))),
        ("of others", |tree| {
            tree.host.user_id = Box::new(|_| Some(77));
            tree.facts = |facts| {
                facts.secrets.clear();
                facts.directories.clear();
                facts.status_dirs.clear();
            }
        }),
        ("own path", |tree| tree.replace(VIPU, "IpuofDir", "AdminSocket=/absent/s\nIpuofDir")),
    ]);
    assert_snapshot!(lines);
}
