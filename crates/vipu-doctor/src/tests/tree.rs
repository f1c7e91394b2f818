//! The file tree of a healthy host: slurmctld and a node with IPUs on one machine, with TLS and access keys.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

use mock_vipu::{Authority, Hardware, MockServer, Options, Tls, User};
use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use vipu_status::{ConfFile, Contact, Model, Pod, SCHEMA, Status, Writer};
use vipu_types::version_note::SECTION;

use crate::examination::Facts;
use crate::finding::Level;
use crate::host::Host;
use crate::{Examination, Finding};

pub(crate) const SLURM: &str = "/etc/slurm/slurm.conf";
pub(crate) const VIPU: &str = "/etc/slurm/vipu.conf";
pub(crate) const STACK: &str = "/etc/slurm/plugstack.conf";

/// The time of each examination: May 2026, in the life of the certificates.
pub(crate) const NOW: i64 = 1_780_000_000;

/// The name of the only user of the host but root.
const USER: &str = "slurm";

const SLURM_CONF: &str = "\
ClusterName=test
SlurmctldHost=ctl(127.0.0.1)
SlurmUser=slurm
SlurmctldPidFile=/run/slurm/slurmctld.pid
StateSaveLocation=/var/spool/slurmctld
PluginDir=/usr/lib/slurm
SelectType=select/vipu
SelectTypeParameters=CR_CPU
GresTypes=gpu,vipu
JobSubmitPlugins=vipu
PropagateResourceLimitsExcept=MEMLOCK
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageTRES=gres/vipu
SlurmctldParameters=enable_configless
Prolog=/etc/slurm/prolog.sh
NodeName=DEFAULT CPUs=8
NodeName=ctl,n[01-03] Gres=gpu:1,vipu:pod64:no_consume:64
PartitionName=ipu Nodes=ALL Default=YES
PartitionName=debug Nodes=n01
PrologFlags=Contain
";

const PLUGSTACK: &str = "required spank_ipuof.so ipuof_dir=/shared/ipuof\n";

const VIPU_CONF: &str = "\
ApiHost=CONTROLLER
ApiTlsCa=/etc/slurm/ca.pem
ApiAccessFile=/etc/slurm/access
IpuofDir=/shared/ipuof
StatusDir=/shared/status
StatusGroup=ipus
IpusPerSlurmPartition=debug:16
MaxIpusPerJobInQos=normal:32
";

const SLURMD_SERVICE: &str = "\
[Unit]
Description=Slurm node daemon

[Service]
ExecStart=/usr/sbin/slurmd -D
LimitMEMLOCK=infinity
";

/// A journal without a partition, of this version.
pub(crate) fn journal(version: u32) -> String {
    let header = format!("{{\"journal\":\"slurm-vipu\",\"version\":{version}}}");
    format!("{:08x} {header}\n", crc32fast::hash(header.as_bytes()))
}

/// The parts that all tests share, because keys take long to make in a debug build.
struct Site {
    _runtime: Runtime,
    server: MockServer,
    authority: Authority,
}

fn site() -> &'static Site {
    static SITE: OnceLock<Site> = OnceLock::new();
    SITE.get_or_init(|| {
        let authority = Authority::new("site").unwrap();
        let signed = authority.sign("127.0.0.1").unwrap();
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let tls = Tls { certificate: signed.certificate, key: signed.key, client_ca: None };
        let users = vec![User { name: "slurm".into(), key: "secret".into() }];
        let options = Options { tls: Some(tls), users, ..Options::new(Hardware::new(64)) };
        let server = runtime.block_on(MockServer::start(options)).unwrap();
        Site { _runtime: runtime, server, authority }
    })
}

/// The address of a controller that answers.
pub(crate) fn controller() -> SocketAddr {
    site().server.address()
}

/// The file tree of a host.
pub(crate) struct Tree {
    folder: TempDir,
    /// What the process knows about the host.
    pub(crate) host: Host<'static>,
    /// A change of the facts before the checks, for what a test cannot have.
    pub(crate) facts: fn(&mut Facts),
}

impl Tree {
    /// The tree of a healthy host.
    pub(crate) fn healthy() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let me = folder.path().metadata().unwrap().uid();
        let host = Host {
            root: folder.path().to_owned(),
            name: "ctl.example.org".into(),
            now: NOW,
            slurm_conf: None,
            status: None,
            sacctmgr: folder.path().join("usr/bin/sacctmgr"),
            user_id: Box::new(move |name| (name == USER).then_some(me)),
            in_group: |_, group| ["ipus", "others"].contains(&group).then_some(group == "ipus"),
            groups: |_| Vec::new(),
        };
        let tree = Self { folder, host, facts: |_| () };
        tree.write("/etc/slurm/slurm.conf", SLURM_CONF);
        tree.write("/etc/slurm/plugstack.conf", PLUGSTACK);
        tree.write("/etc/slurm/vipu.conf", VIPU_CONF.replace("CONTROLLER", &controller().to_string()));
        tree.write("/etc/slurm/prolog.sh", "#!/bin/sh\nexit 0\n");
        tree.write("/etc/slurm/ca.pem", site().authority.pem());
        tree.write("/etc/slurm/access", "api-user-id=slurm\napi-access-key=secret\n");
        tree.chmod("/etc/slurm/access", 0o600);
        tree.write("/usr/bin/sacctmgr", "#!/bin/sh\nprintf 'normal\\nlow\\n'\n");
        tree.chmod("/usr/bin/sacctmgr", 0o755);
        tree.plugins();
        fs::create_dir_all(tree.path("/shared/ipuof")).unwrap();
        tree.chmod("/shared/ipuof", 0o755);
        tree.write("/shared/ipuof/.vipu_test", "5f0c93aa71b2e604\n");
        for path in ["/shared/status", "/run/slurm"] {
            fs::create_dir_all(tree.path(path)).unwrap();
            tree.chmod(path, 0o755);
        }
        tree.write("/lib/systemd/system/slurmd.service", SLURMD_SERVICE);
        tree.write("/etc/slurm/gres.conf", "Name=gpu File=/dev/gpu0 # Name=vipu File=x\n");
        tree.write("/var/spool/slurmctld/vipu_journal", journal(2));
        tree.status(|_| ());
        tree
    }

    fn plugins(&self) {
        let slurm = with_symbol("plugin_version", &0x0018_0b05_u32.to_le_bytes());
        self.write("/usr/lib/slurm/select_cons_tres.so", slurm);
        for name in ["select_vipu.so", "job_submit_vipu.so", "vipu_slurmctld.so", "gres_vipu.so"] {
            self.plugin(name, "0.1.0 build 1234");
        }
        self.plugin("spank_ipuof.so", "0.1.0");
    }

    /// Writes a plugin file of a build.
    pub(crate) fn plugin(&self, name: &str, build: &str) {
        self.write(&format!("/usr/lib/slurm/{name}"), with_version_note(&format!("slurm-vipu {build}")));
    }

    /// Writes the status document with a change.
    pub(crate) fn status(&self, change: impl FnOnce(&mut Status)) {
        self.status_at("/var/spool/slurmctld/vipu_status.json", change);
    }

    /// Writes a status document with a change into a file.
    pub(crate) fn status_at(&self, path: &str, change: impl FnOnce(&mut Status)) {
        let pod = Pod {
            controller: controller().to_string(),
            contact: Contact::Reached { since: NOW - 7200 },
            ..Pod::default()
        };
        let conf = ConfFile { read: NOW - 60, error: None, in_force: true };
        let mut status = Status {
            schema: SCHEMA,
            written: NOW - 3,
            writer: Writer { cluster: "test".into(), ..Writer::default() },
            models: vec![Model { name: "pod64".into(), pods: vec![pod], conf, ..Model::default() }],
            ..Status::default()
        };
        change(&mut status);
        self.write(path, status.to_json().unwrap());
    }

    /// The place of a path of the host.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path.trim_start_matches('/'))
    }

    /// Writes a file of an hour ago.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let place = self.path(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, bytes).unwrap();
        self.touch(path, NOW - 3600);
    }

    pub(crate) fn touch(&self, path: &str, time: i64) {
        let time = UNIX_EPOCH + Duration::from_secs(time.try_into().unwrap());
        fs::File::options().append(true).open(self.path(path)).unwrap().set_modified(time).unwrap();
    }

    /// Makes SlurmUser another user than the owner of the files. Only the check of files sees that.
    pub(crate) fn with_other_user(&mut self) {
        self.host.user_id = Box::new(|_| Some(77));
        self.facts = |facts| {
            facts.secrets.clear();
            facts.directories.clear();
            facts.status_dirs.clear();
            facts.admin_socket = None;
        };
    }

    /// Changes a text, which the file must have.
    pub(crate) fn replace(&self, path: &str, from: &str, to: &str) {
        let before = fs::read_to_string(self.path(path)).unwrap();
        assert!(before.contains(from), "{path} has no {from}");
        self.write(path, before.replace(from, to));
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    pub(crate) fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), Permissions::from_mode(mode)).unwrap();
    }

    /// Examines the host. The file system and the disk of the test's machine do not matter.
    pub(crate) fn examine(&self) -> Examination {
        self.examine_with(self.facts)
    }

    /// Examines the host with changed facts.
    pub(crate) fn examine_with(&self, change: impl FnOnce(&mut Facts)) -> Examination {
        let mut facts = match Facts::gather(&self.host) {
            Ok(facts) => facts,
            Err(finding) => return Examination { findings: vec![finding], ..Examination::default() },
        };
        facts.directories.iter_mut().for_each(|directory| directory.has_acls = true);
        facts.state.iter_mut().for_each(|state| (state.free, state.lacks_inodes) = (1 << 40, false));
        change(&mut facts);
        facts.check(&self.host)
    }

    /// The findings in lines, without what differs between runs.
    pub(crate) fn lines(&self, examination: &Examination) -> String {
        let line = |finding: &Finding| format!("{}: {finding}\n", finding.level.name());
        let text: String = examination.findings.iter().map(line).collect();
        let me = self.folder.path().metadata().unwrap().uid();
        let text = text.replace(&controller().to_string(), "CONTROLLER");
        let text = text.replace(&self.folder.path().display().to_string(), "");
        text.replace(&format!("user {me}"), "user ME").replace(&format!("chown {me}"), "chown ME")
    }
}

/// A way to break the healthy host: its name, and the change.
type Way<'a> = (&'a str, fn(&mut Tree));

/// The findings of all ways, one line each.
#[track_caller]
pub(crate) fn each_has_one_finding(ways: &[Way<'_>]) -> String {
    let mut text = String::new();
    for (name, breaks) in ways {
        let mut tree = Tree::healthy();
        breaks(&mut tree);
        let lines = tree.lines(&tree.examine());
        assert_eq!(lines.lines().count(), 1, "{name}:\n{lines}");
        text += &format!("{name}:\n  {lines}");
    }
    text
}

/// An ELF object with these bytes under this name.
fn with_symbol(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let section = object.section_id(StandardSection::ReadOnlyData);
    let symbol = object.add_symbol(Symbol {
        name: name.into(),
        value: 0,
        size: bytes.len() as u64,
        kind: SymbolKind::Data,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    });
    // Something stands before the symbol, as in a real file.
    object.append_section_data(section, b"before", 8);
    object.add_symbol_data(symbol, section, bytes, 8);
    object.write().unwrap()
}

/// An ELF object with this text in the note of slurm-vipu.
fn with_version_note(text: &str) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let section = object.add_section(Vec::new(), SECTION.into(), SectionKind::Note);
    let lengths = [11, text.len() as u32 + 1, 1].map(u32::to_le_bytes).concat();
    let note = [&lengths, b"slurm-vipu\0\0".as_slice(), text.as_bytes(), b"\0"].concat();
    object.append_section_data(section, &note, 4);
    object.write().unwrap()
}

#[test]
fn cli_doctor_healthy_host_has_no_finding() {
    let tree = Tree::healthy();
    let examination = tree.examine();
    assert_eq!(tree.lines(&examination), "");
    assert_eq!(examination.roles, ["slurmctld host", "node with IPUs"]);
    assert_eq!(examination.slurm.as_deref(), Some("24.11.5"));
    assert_eq!(examination.count(Level::Error), 0);
}
