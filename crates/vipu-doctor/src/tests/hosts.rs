//! Hosts of other kinds, and a host with several faults.

use std::fs;

use insta::assert_snapshot;

use super::tree::{SLURM, Tree, VIPU};

/// The tree as a node without a configuration of its own has it: a copy of what slurmctld sends.
fn configless() -> Tree {
    let mut tree = Tree::healthy();
    tree.host.name = "n01".into();
    for name in ["slurm.conf", "plugstack.conf"] {
        let text = fs::read(tree.path(&format!("/etc/slurm/{name}"))).unwrap();
        tree.write(&format!("/var/spool/slurmd/conf-cache/{name}"), text);
    }
    fs::remove_dir_all(tree.path("/etc/slurm")).unwrap();
    fs::remove_dir_all(tree.path("/var/spool/slurmctld")).unwrap();
    for name in ["job_submit_vipu.so", "vipu_slurmctld.so", "gres_vipu.so"] {
        tree.remove(&format!("/usr/lib/slurm/{name}"));
    }
    tree
}

#[test]
fn cli_doctor_configless_node_is_healthy() {
    let tree = configless();
    let examination = tree.examine();
    assert_eq!(tree.lines(&examination), "");
    assert_eq!(examination.roles, ["node with IPUs"]);
    assert_eq!(examination.slurm_conf.as_deref(), Some("/var/spool/slurmd/conf-cache/slurm.conf"));
}

#[test]
fn cli_doctor_configless_node_with_its_own_spool_directory_is_healthy() {
    let tree = configless();
    // slurmd links its cache there, wherever SlurmdSpoolDir is.
    for folder in ["/run/slurm", "/var/lib"] {
        fs::create_dir_all(tree.path(folder)).unwrap();
    }
    fs::rename(tree.path("/var/spool/slurmd"), tree.path("/var/lib/slurmd")).unwrap();
    let link = tree.path("/run/slurm/conf");
    std::os::unix::fs::symlink("../../var/lib/slurmd/conf-cache", link).unwrap();
    let examination = tree.examine();
    assert_eq!(tree.lines(&examination), "");
    assert_eq!(examination.slurm_conf.as_deref(), Some("/run/slurm/conf/slurm.conf"));
}

#[test]
fn cli_doctor_configless_node_is_wrong() {
    let tree = configless();
    tree.write("/var/spool/slurmd/conf-cache/plugstack.conf", "include /etc/slurm/plugstack.d/*\n");
    tree.remove("/usr/lib/slurm/select_vipu.so");
    let lines = tree.lines(&tree.examine());
    let tree = configless();
    fs::remove_dir_all(tree.path("/shared")).unwrap();
    assert_snapshot!(lines + &tree.lines(&tree.examine()));
}

#[test]
fn cli_doctor_linear_layer_needs_no_parameters() {
    let tree = Tree::healthy();
    tree.replace(VIPU, "IpuofDir", "Layer=linear\nIpuofDir");
    tree.replace(SLURM, "SelectTypeParameters=CR_CPU\n", "");
    assert_eq!(tree.lines(&tree.examine()), "");
}

#[test]
fn cli_doctor_login_host_needs_little() {
    let mut tree = configless();
    tree.host.name = "login".into();
    tree.remove("/var/spool/slurmd/conf-cache/plugstack.conf");
    tree.remove("/usr/lib/slurm/spank_ipuof.so");
    fs::remove_dir_all(tree.path("/shared")).unwrap();
    let examination = tree.examine();
    assert_snapshot!(tree.lines(&examination));
    assert_eq!(examination.roles, ["login host"]);
}

#[test]
fn cli_doctor_hosts_need_the_selector_by_release() {
    let mut text = String::new();
    for (name, release) in ["n01", "login"].iter().flat_map(|name| {
        ["23.02.0", "23.11.0", "24.05.0", "24.11.0", "25.05.0"].map(|release| (*name, release))
    }) {
        let mut tree = configless();
        tree.host.name = name.into();
        tree.remove("/usr/lib/slurm/select_vipu.so");
        let found = tree.examine_with(|facts| facts.plugins.release = release.parse().ok());
        text += &format!("{name} with Slurm {release}:\n{}", tree.lines(&found));
    }
    assert_snapshot!(text);
}

#[test]
fn cli_doctor_host_without_slurm() {
    let tree = Tree::healthy();
    fs::rename(tree.path("/etc/slurm"), tree.path("/etc/slurm-away")).unwrap();
    assert_snapshot!(tree.lines(&crate::examine(&tree.host)));
}

#[test]
fn cli_doctor_host_is_wrong_in_five_ways() {
    let tree = Tree::healthy();
    tree.replace(SLURM, "select/vipu", "select/cons_tres");
    tree.replace(SLURM, "no_consume:", "");
    tree.replace(SLURM, "AccountingStorageTRES=gres/vipu\n", "");
    tree.remove("/etc/slurm/plugstack.conf");
    tree.replace("/etc/slurm/vipu.conf", "debug:16", "debgu:16");
    let examination = tree.examine();
    assert_eq!(examination.findings.len(), 5);
    assert_snapshot!(tree.lines(&examination));
}
