//! The healthy host, broken in one way: exactly one finding.

use std::fmt::Write as _;
use std::fs;

use insta::assert_snapshot;
use vipu_status::{Contact, OtherIpus, OtherUse, Place};

use super::tree::Tree;
use crate::facts::Facts;

const SLURM: &str = "/etc/slurm/slurm.conf";
const VIPU: &str = "/etc/slurm/vipu.conf";
const STACK: &str = "/etc/slurm/plugstack.conf";

/// A way to break the host: its name, a change of the tree, and one of the facts.
type Way<'a> = (&'a str, fn(&mut Tree), fn(&mut Facts));

/// The findings of all ways, one line each.
#[track_caller]
fn each_has_one_finding(ways: &[Way<'_>]) -> String {
    let mut text = String::new();
    for (name, breaks, changes) in ways {
        let mut tree = Tree::healthy();
        breaks(&mut tree);
        let lines = tree.lines(&tree.examine_with(changes));
        assert_eq!(lines.lines().count(), 1, "{name}:\n{lines}");
        let _ = write!(text, "{name}:\n  {lines}");
    }
    text
}

fn unchanged(_: &mut Facts) {}

#[test]
fn cli_doctor_slurm_conf_is_wrong() {
    let lines = each_has_one_finding(&[
        ("selector", |tree| tree.replace(SLURM, "select/vipu", "select/cons_tres"), unchanged),
        ("no selector", |tree| tree.replace(SLURM, "SelectType=select/vipu\n", ""), unchanged),
        ("no parameters", |tree| tree.replace(SLURM, "SelectTypeParameters=CR_CPU\n", ""), unchanged),
        ("vendor's parameters", |tree| tree.replace(SLURM, "=CR_CPU", "=other_cons_tres,CR_CPU"), unchanged),
        ("no GresTypes", |tree| tree.replace(SLURM, "GresTypes=gpu,vipu", "GresTypes=gpu"), unchanged),
        ("no submit plugin", |tree| tree.replace(SLURM, "JobSubmitPlugins=vipu\n", ""), unchanged),
        (
            "not the last submit plugin",
            |tree| tree.replace(SLURM, "Plugins=vipu", "Plugins=vipu,lua"),
            unchanged,
        ),
        ("limits", |tree| tree.replace(SLURM, "PropagateResourceLimitsExcept=MEMLOCK\n", ""), unchanged),
        ("other limits", |tree| tree.replace(SLURM, "Except=MEMLOCK", "Except=NOFILE"), unchanged),
        ("no_consume", |tree| tree.replace(SLURM, "no_consume:", ""), unchanged),
        ("no model", |tree| tree.replace(SLURM, "vipu:pod64:no_consume", "vipu:no_consume"), unchanged),
        ("number", |tree| tree.replace(SLURM, "no_consume:64", "no_consume:48"), unchanged),
        ("no number", |tree| tree.replace(SLURM, "no_consume:64", "no_consume"), unchanged),
        ("bad model", |tree| tree.replace(SLURM, "vipu:pod64:", "vipu:64pod:"), unchanged),
        ("accounting", |tree| tree.replace(SLURM, "AccountingStorageTRES=gres/vipu\n", ""), unchanged),
        ("no pair", |tree| tree.replace(SLURM, "ClusterName=test", "ClusterName=test\nnonsense"), unchanged),
        ("missing include", |tree| tree.replace(SLURM, "Cl", "Include gone.conf\nCl"), unchanged),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_vipu_conf_is_wrong() {
    let lines = each_has_one_finding(&[
        ("unknown key", |tree| tree.replace(VIPU, "IpuofDir", "IpufDir=1\nIpuofDir"), unchanged),
        ("two errors", |tree| tree.replace(VIPU, "IpuofDir", "IpufDir=1\nIpuofDirs"), unchanged),
        ("missing", |tree| tree.remove(VIPU), unchanged),
        (
            "link to nothing",
            |tree| std::os::unix::fs::symlink("gone", tree.path("/etc/slurm/pod64.conf")).unwrap(),
            unchanged,
        ),
        ("Slurm partition", |tree| tree.replace(VIPU, "debug:16", "debug:16,shrot:8"), unchanged),
        ("QOS", |tree| tree.replace(VIPU, "normal:32", "normal:32,hihg:8"), unchanged),
        (
            "no fetcher",
            |tree| {
                tree.replace(VIPU, "IpuofDir=/shared/ipuof", "Delivery=node");
                tree.replace(STACK, " ipuof_dir=/shared/ipuof", "");
            },
            unchanged,
        ),
        (
            "layer",
            |tree| {
                tree.replace(VIPU, "IpuofDir", "Layer=linear\nIpuofDir");
                tree.replace(SLURM, "=CR_CPU", "=other_cons_tres,CR_CPU");
            },
            |facts| facts.plugins.release = "23.11.4".parse().ok(),
        ),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_plugstack_is_wrong() {
    let lines = each_has_one_finding(&[
        ("missing", |tree| tree.remove(STACK), unchanged),
        ("another plugin", |tree| tree.replace(STACK, "spank_ipuof.so", "spank_x11.so"), unchanged),
        ("comment", |tree| tree.replace(STACK, "required", "#required"), unchanged),
        ("optional", |tree| tree.replace(STACK, "required", "optional"), unchanged),
        ("another directory", |tree| tree.replace(STACK, "=/shared/ipuof", "=/shared"), unchanged),
        ("no directory", |tree| tree.replace(STACK, " ipuof_dir=/shared/ipuof", ""), unchanged),
        (
            "not sent to nodes",
            |tree| {
                fs::rename(tree.path(STACK), tree.path("/etc/slurm/ipuof.conf")).unwrap();
                tree.write(STACK, "include /etc/slurm/ipu*.conf\n");
            },
            unchanged,
        ),
        ("no file", |tree| tree.remove("/usr/lib/slurm/spank_ipuof.so"), unchanged),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_plugin_files_are_wrong() {
    let lines = each_has_one_finding(&[
        ("selector", |tree| tree.remove("/usr/lib/slurm/select_vipu.so"), unchanged),
        ("back", |tree| tree.remove("/usr/lib/slurm/vipu_slurmctld.so"), unchanged),
        ("submit plugin", |tree| tree.remove("/usr/lib/slurm/job_submit_vipu.so"), unchanged),
        ("another build", |tree| tree.plugin("vipu_slurmctld.so", "0.1.0 5678"), unchanged),
        ("another version", |tree| tree.plugin("spank_ipuof.so", "0.0.9"), unchanged),
        ("no build", |tree| tree.write("/usr/lib/slurm/gres_vipu.so", "no ELF"), unchanged),
        (
            "two folders",
            |tree| {
                tree.replace(SLURM, "/usr/lib/slurm", "/usr/lib/slurm:/opt/slurm");
                fs::create_dir_all(tree.path("/opt/slurm")).unwrap();
                fs::rename(
                    tree.path("/usr/lib/slurm/vipu_slurmctld.so"),
                    tree.path("/opt/slurm/vipu_slurmctld.so"),
                )
                .unwrap();
            },
            unchanged,
        ),
        ("both names", |tree| tree.plugin("select_vipu_cons_tres.so", "0.1.0 1234"), unchanged),
        ("unknown release", |_| (), |facts| facts.plugins.release = "26.05.4".parse().ok()),
        ("no release", |tree| tree.remove("/usr/lib/slurm/select_cons_tres.so"), unchanged),
        ("table", |tree| tree.write("/etc/slurm/slurm-layout.conf", "Release=24.11.5\n"), unchanged),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_files_are_open_or_expired() {
    let lines = each_has_one_finding(&[
        ("open key file", |tree| tree.chmod("/etc/slurm/access", 0o640), unchanged),
        ("no key file", |tree| tree.remove("/etc/slurm/access"), unchanged),
        ("no CA", |tree| tree.remove("/etc/slurm/ca.pem"), unchanged),
        ("no PEM", |tree| tree.write("/etc/slurm/ca.pem", "text"), unchanged),
        (
            "key file of others",
            |tree| tree.host.user_id = Box::new(|_| Some(77)),
            |facts| facts.directories.clear(),
        ),
        ("expired", |_| (), |facts| facts.certificates[0].valid = Ok((0, facts.now - 1))),
        ("expires soon", |_| (), |facts| facts.certificates[0].valid = Ok((0, facts.now + 86400 * 12))),
        ("not valid yet", |_| (), |facts| facts.certificates[0].valid = Ok((facts.now + 60, i64::MAX))),
        ("directory is closed", |tree| tree.chmod("/shared/ipuof", 0o750), unchanged),
        ("directory is open", |tree| tree.chmod("/shared/ipuof", 0o777), unchanged),
        (
            "directory of others",
            |tree| tree.host.user_id = Box::new(|_| Some(77)),
            |facts| facts.secrets.clear(),
        ),
        (
            "no directory",
            |tree| fs::rename(tree.path("/shared/ipuof"), tree.path("/shared/x")).unwrap(),
            unchanged,
        ),
        ("no ACLs", |_| (), |facts| facts.directories[0].has_acls = false),
        ("another cluster", |tree| tree.write("/shared/ipuof/.vipu_other", "0\n"), unchanged),
        ("little room", |_| (), |facts| facts.state.iter_mut().for_each(|state| state.free = 3 << 20)),
        ("damaged journal", |tree| tree.write("/var/spool/slurmctld/vipu_journal.bad", ""), unchanged),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_controllers_do_not_answer() {
    let lines = each_has_one_finding(&[
        ("nobody listens", |tree| tree.replace(VIPU, "ApiHost=", "ApiPort=1\nApiHost=127.0.0.1,"), unchanged),
        (
            "another CA",
            |tree| tree.write("/etc/slurm/ca.pem", mock_vipu::Authority::new("site").unwrap().pem()),
            unchanged,
        ),
        ("another name", |tree| tree.replace(VIPU, "IpuofDir", "ApiTlsServerName=vipu\nIpuofDir"), unchanged),
        ("wrong key", |tree| tree.replace("/etc/slurm/access", "secret", "guess"), unchanged),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_status_document_tells_of_trouble() {
    let lines = each_has_one_finding(&[
        ("none", |tree| tree.remove("/var/spool/slurmctld/vipu_status.json"), unchanged),
        ("half", |tree| tree.write("/var/spool/slurmctld/vipu_status.json", "{\"schema\":1,"), unchanged),
        ("old", |tree| tree.status(|status| status.written -= 600), unchanged),
        ("future", |tree| tree.status(|status| status.written += 600), unchanged),
        (
            "out of order",
            |tree| tree.status(|status| status.out_of_order = Some("it panicked".into())),
            unchanged,
        ),
        (
            "error in a file",
            |tree| {
                tree.status(|status| {
                    status.models[0].conf.error = Some("vipu.conf:1: unknown key 'x'".into());
                    status.models[0].trouble = status.models[0].conf.error.clone();
                })
            },
            unchanged,
        ),
        (
            "trouble",
            |tree| tree.status(|status| status.models[0].trouble = Some("journal: No space left".into())),
            unchanged,
        ),
        ("journal", |tree| tree.status(|status| status.counters.journal.lag = 42.4), unchanged),
        (
            "controller",
            |tree| {
                tree.status(|status| {
                    let contact = Contact::Lost { since: 0, reason: "connection refused".into() };
                    status.models[0].pods[0].contact = contact;
                })
            },
            |facts| facts.controllers.clear(),
        ),
        (
            "quarantined",
            |tree| {
                tree.status(|status| {
                    let places = vec![Place { domain: 0, index: 0 }, Place { domain: 0, index: 1 }];
                    let other = |id: &str| OtherIpus {
                        because: OtherUse::Foreign,
                        partition: Some(id.into()),
                        places: places.clone(),
                    };
                    status.models[0].pods[0].others = vec![other("slurm_9"), other("slurm_x"), other("test")];
                })
            },
            unchanged,
        ),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_vendor_left_something() {
    let lines = each_has_one_finding(&[
        (
            "script",
            |tree| tree.write("/etc/slurm/prolog.sh", "vipu-admin create allocation c$SLURM_JOB_ID\n"),
            unchanged,
        ),
        (
            "submit script",
            |tree| {
                tree.replace(SLURM, "Plugins=vipu", "Plugins=lua,vipu");
                tree.write("/etc/slurm/job_submit.lua", "job_desc.gres = \"vipu:4:1\"\n");
            },
            unchanged,
        ),
        ("directory", |tree| tree.replace(SLURM, "Prolog=", "VipuIpuofDir=/home/ipuof\nProlog="), unchanged),
        ("another key", |tree| tree.replace(SLURM, "Prolog=", "VipuApiHost=x\nProlog="), unchanged),
        ("allocations", |tree| tree.write("/etc/slurm/ipum.allocs", "n01:ag1\n"), unchanged),
    ]);
    assert_snapshot!(lines);
}
