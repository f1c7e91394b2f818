//! The healthy host with a fault outside its configuration files: exactly one finding.

use std::fs;

use insta::assert_snapshot;
use vipu_status::{Contact, OtherIpus, OtherUse, Partition, Place, State};

use super::tree::{NOW, SLURM, STACK, Tree, VIPU, each_has_one_finding};

/// A partition that is kept for a failed job.
fn kept(size: u32) -> Partition {
    Partition {
        key: size.into(),
        model: "pod64".into(),
        controller: "vipu:8090".into(),
        size,
        state: State::Kept,
        ..Partition::default()
    }
}

#[test]
fn cli_doctor_plugin_files_are_wrong() {
    let lines = each_has_one_finding(&[
        ("selector", |tree| tree.remove("/usr/lib/slurm/select_vipu.so")),
        ("back", |tree| tree.remove("/usr/lib/slurm/vipu_slurmctld.so")),
        ("submit plugin", |tree| tree.remove("/usr/lib/slurm/job_submit_vipu.so")),
        ("another build", |tree| tree.plugin("vipu_slurmctld.so", "0.1.0 build 5678")),
        ("another version", |tree| tree.plugin("spank_ipuof.so", "0.0.9")),
        ("no build", |tree| tree.write("/usr/lib/slurm/gres_vipu.so", "no ELF")),
        ("two folders", |tree| {
            tree.replace(SLURM, "/usr/lib/slurm", "/usr/lib/slurm:/opt/slurm");
            fs::create_dir_all(tree.path("/opt/slurm")).unwrap();
            fs::rename(
                tree.path("/usr/lib/slurm/vipu_slurmctld.so"),
                tree.path("/opt/slurm/vipu_slurmctld.so"),
            )
            .unwrap();
        }),
        ("both names", |tree| tree.plugin("select_vipu_cons_tres.so", "0.1.0 build 1234")),
        ("unknown release", |tree| tree.facts = |facts| facts.plugins.release = "26.05.4".parse().ok()),
        ("no release", |tree| tree.remove("/usr/lib/slurm/select_cons_tres.so")),
        ("table", |tree| tree.write("/etc/slurm/slurm-layout.conf", "Release=24.11.5\n")),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_site_without_a_folder_of_plugins() {
    let tree = Tree::healthy();
    tree.replace(SLURM, "PluginDir=/usr/lib/slurm\n", "");
    fs::rename(tree.path("/usr/lib/slurm"), tree.path("/opt")).unwrap();
    let lines = tree.lines(&tree.examine());
    assert!(lines.contains("select_vipu.so: it is not in a usual folder, and slurmctld needs it"), "{lines}");
}

#[test]
fn cli_doctor_files_are_open_or_expired() {
    let lines = each_has_one_finding(&[
        ("open key file", |tree| tree.chmod("/etc/slurm/access", 0o640)),
        ("no key file", |tree| tree.remove("/etc/slurm/access")),
        ("no CA", |tree| tree.remove("/etc/slurm/ca.pem")),
        ("no PEM", |tree| tree.write("/etc/slurm/ca.pem", "text")),
        ("key file of others", |tree| {
            tree.host.user_id = Box::new(|_| Some(77));
            tree.facts = |facts| {
                facts.directories.clear();
                facts.status_dirs.clear();
                facts.admin_socket = None;
            }
        }),
        ("expired", |tree| tree.facts = |facts| facts.certificates[0].valid = Ok((0, NOW - 1))),
        ("expires soon", |tree| tree.facts = |facts| facts.certificates[0].valid = Ok((0, NOW + 86400 * 12))),
        ("not valid yet", |tree| tree.facts = |facts| facts.certificates[0].valid = Ok((NOW + 60, i64::MAX))),
        ("directory is closed", |tree| tree.chmod("/shared/ipuof", 0o750)),
        ("directory is open", |tree| tree.chmod("/shared/ipuof", 0o777)),
        ("directory of others", |tree| {
            tree.host.user_id = Box::new(|_| Some(77));
            tree.facts = |facts| {
                facts.secrets.clear();
                facts.status_dirs.clear();
                facts.admin_socket = None;
            }
        }),
        ("no directory", |tree| fs::rename(tree.path("/shared/ipuof"), tree.path("/shared/x")).unwrap()),
        ("no ACLs", |tree| tree.facts = |facts| facts.directories[0].has_acls = false),
        ("another cluster", |tree| tree.write("/shared/ipuof/.vipu_other", "0\n")),
        ("little room", |tree| tree.facts = |facts| facts.state.as_mut().unwrap().free = 3 << 20),
        ("damaged journal", |tree| tree.write("/var/spool/slurmctld/vipu_journal.bad", "")),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_files_are_closed() {
    let lines = each_has_one_finding(&[
        ("to SlurmUser", |tree| {
            tree.with_other_user();
            tree.chmod(VIPU, 0o600);
        }),
        ("folder", |tree| {
            tree.with_other_user();
            tree.chmod("/etc/slurm", 0o700);
        }),
        ("to SlurmUser in its group", |tree| {
            tree.with_other_user();
            tree.chmod(VIPU, 0o604);
            tree.host.groups = |_| vec![nix::unistd::getegid().as_raw()];
        }),
        ("keys", |tree| {
            tree.with_other_user();
            tree.replace(VIPU, "/etc/slurm/access", "/etc/keys/access");
            tree.write("/etc/keys/access", "api-user-id=slurm\napi-access-key=secret\n");
            tree.chmod("/etc/keys", 0o700);
        }),
        ("link", |tree| {
            tree.with_other_user();
            fs::create_dir(tree.path("/opt")).unwrap();
            fs::rename(tree.path(VIPU), tree.path("/opt/vipu.conf")).unwrap();
            std::os::unix::fs::symlink(tree.path("/opt/vipu.conf"), tree.path(VIPU)).unwrap();
            tree.chmod("/opt", 0o750);
        }),
        ("to users", |tree| tree.chmod(STACK, 0o600)),
        ("IpuofDir to users", |tree| tree.chmod("/shared", 0o700)),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_private_directories_hide_files() {
    let lines = each_has_one_finding(&[
        ("IpuofDir", |tree| {
            tree.replace(SLURM, "Cl", "JobContainerType=job_container/tmpfs\nCl");
            tree.write("/etc/slurm/job_container.conf", "BasePath=/var/jc Dirs=/tmp,/shared\n");
        }),
        ("fetched files", |tree| {
            tree.replace(SLURM, "Cl", "NamespaceType=namespace/tmpfs\nCl");
            tree.write("/etc/slurm/job_container.conf", "BasePath=/var/jc Dirs=/tmp,/run\n");
            tree.replace(VIPU, "IpuofDir=/shared/ipuof", "Delivery=node");
            tree.replace(STACK, " ipuof_dir=/shared/ipuof", "");
            tree.write("/usr/lib/slurm/ipuof-fetch", "");
        }),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_controllers_do_not_answer() {
    let lines = each_has_one_finding(&[
        ("nobody listens", |tree| tree.replace(VIPU, "ApiHost=", "ApiPort=1\nApiHost=127.0.0.1,")),
        ("another CA", |tree| {
            tree.write("/etc/slurm/ca.pem", mock_vipu::Authority::new("site").unwrap().pem())
        }),
        ("another name", |tree| tree.replace(VIPU, "IpuofDir", "ApiTlsServerName=vipu\nIpuofDir")),
        ("wrong key", |tree| tree.replace("/etc/slurm/access", "secret", "guess")),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_status_document_tells_of_trouble() {
    let lines = each_has_one_finding(&[
        ("none", |tree| tree.remove("/var/spool/slurmctld/vipu_status.json")),
        ("half", |tree| tree.write("/var/spool/slurmctld/vipu_status.json", "{\"schema\":1,")),
        ("old", |tree| tree.status(|status| status.written -= 600)),
        ("future", |tree| tree.status(|status| status.written += 600)),
        ("out of order", |tree| tree.status(|status| status.out_of_order = Some("it panicked".into()))),
        ("error in a file", |tree| {
            tree.status(|status| {
                status.models[0].conf.error = Some("vipu.conf:1: unknown key 'x'".into());
                status.models[0].trouble = status.models[0].conf.error.clone();
            })
        }),
        ("error in a file that was mended", |tree| {
            tree.status(|status| status.models[0].conf.error = Some("vipu.conf:1: unknown key 'x'".into()));
            tree.touch(VIPU, NOW - 30);
        }),
        ("an old error", |tree| {
            tree.status(|status| {
                status.written -= 600;
                status.models[0].conf.error = Some("vipu.conf:1: unknown key 'x'".into());
            })
        }),
        ("an old error in another directory", |tree| {
            tree.status_at("/shared/ipuof/vipu_status.test.json", |status| {
                status.written -= 600;
                status.models[0].conf.error = Some("vipu.conf:1: unknown key 'x'".into());
            });
            tree.host.status = Some(tree.path("/shared/ipuof/vipu_status.test.json"));
            tree.status(|status| status.counters.journal.lag = 42.4);
        }),
        ("trouble", |tree| {
            tree.status(|status| status.models[0].trouble = Some("journal: No space left".into()))
        }),
        ("journal", |tree| tree.status(|status| status.counters.journal.lag = 42.4)),
        ("controller", |tree| {
            tree.status(|status| {
                let contact = Contact::Lost { since: 0, reason: "connection refused".into() };
                status.models[0].pods[0].contact = contact;
            });
            tree.facts = |facts| facts.controllers.clear();
        }),
        ("kept", |tree| tree.status(|status| status.partitions = vec![kept(16), kept(8)])),
        ("not examined", |tree| {
            tree.facts = |facts| facts.unseen.push(("/x".into(), "Permission denied".into()))
        }),
        ("quarantined", |tree| {
            tree.status(|status| {
                let places = vec![Place { domain: 0, index: 0 }, Place { domain: 0, index: 1 }];
                let other = |id: &str| OtherIpus {
                    because: OtherUse::Foreign,
                    partition: Some(id.into()),
                    leaving: false,
                    places: places.clone(),
                };
                status.models[0].pods[0].others = vec![other("slurm_9"), other("slurm_x"), other("test")];
            })
        }),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_vendor_left_something() {
    let lines = each_has_one_finding(&[
        ("script", |tree| {
            tree.write("/etc/slurm/prolog.sh", "vipu-admin create allocation c$SLURM_JOB_ID\n")
        }),
        ("submit script", |tree| {
            tree.replace(SLURM, "Plugins=vipu", "Plugins=lua,vipu");
            tree.write("/etc/slurm/job_submit.lua", "job_desc.gres = \"vipu:4:1\"\n");
        }),
        ("directory", |tree| tree.replace(SLURM, "Prolog=", "VipuIpuofDir=/home/ipuof\nProlog=")),
        ("another key", |tree| tree.replace(SLURM, "Prolog=", "VipuApiHost=x\nProlog=")),
        ("allocations", |tree| tree.write("/etc/slurm/ipum.allocs", "n01:ag1\n")),
    ]);
    assert_snapshot!(lines);
}
