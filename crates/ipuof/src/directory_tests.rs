//! Contents of the directory, and their effect on writes and removals.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use vipu_types::Device;

const READER: u32 = 54_321;

struct Fixture {
    temp: tempfile::TempDir,
    dir: IpuofDir,
    partition: PartitionId,
}

fn probe(path: &Path) -> Result<Access, Error> {
    IpuofDir::open(path)?.probe()
}

impl Fixture {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let dir = IpuofDir::open(temp.path()).unwrap();
        Self { temp, dir, partition: PartitionId::new("slurm_42").unwrap() }
    }

    fn publish(&self, gcds: &[Gcd]) -> Result<Access, Error> {
        self.dir.publish(&self.partition, gcds, READER)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.temp.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A GCD that differs from others by this number.
fn gcd(ipus: u32) -> Gcd {
    let device = |device_id| Device { device_id, ..Device::default() };
    Gcd { devices: (0..ipus).map(device).collect(), attributes: Default::default() }
}

#[test]
fn published_files_are_whole_and_are_removed() {
    let fixture = Fixture::new();
    fixture.publish(&[gcd(64)]).unwrap();
    assert_eq!(fixture.names(), ["slurm_42.conf"]);
    let content = fs::read(fixture.path("slurm_42.conf")).unwrap();
    assert_eq!(serde_json::from_slice::<Gcd>(&content).unwrap(), gcd(64));
    fixture.dir.remove(&fixture.partition, 1).unwrap();
    fixture.dir.remove(&fixture.partition, 1).unwrap();
    assert!(fixture.names().is_empty());
}

#[test]
fn every_gcd_has_its_file() {
    let fixture = Fixture::new();
    fixture.publish(&[gcd(1), gcd(2)]).unwrap();
    assert_eq!(fixture.names(), ["slurm_42_gcd0.conf", "slurm_42_gcd1.conf"]);
    let second = fs::read(fixture.path("slurm_42_gcd1.conf")).unwrap();
    assert_eq!(serde_json::from_slice::<Gcd>(&second).unwrap(), gcd(2));
    fixture.dir.remove(&fixture.partition, 2).unwrap();
    assert!(fixture.names().is_empty());
}

#[test]
fn nothing_to_write_is_an_error() {
    let error = Fixture::new().publish(&[]).unwrap_err().to_string();
    assert_eq!(error, "the controller gave no IPUoF configuration for partition slurm_42");
}

#[test]
fn other_users_cannot_read_a_file() {
    let fixture = Fixture::new();
    let access = fixture.publish(&[gcd(1)]).unwrap();
    let facts = fs::metadata(fixture.path("slurm_42.conf")).unwrap();
    let expected = match access {
        Access::Owner => (READER, 0o400),
        Access::Acl => (geteuid().as_raw(), 0o640),
        Access::WorldReadable => (geteuid().as_raw(), 0o644),
    };
    assert_eq!((facts.uid(), facts.mode() & 0o7777), expected);
    if geteuid().is_root() {
        assert_eq!(access, Access::Owner);
    }
}

#[test]
fn an_unprivileged_slurmctld_uses_an_access_control_list() {
    let mut fixture = Fixture::new();
    fixture.dir.ways = &[Access::Acl, Access::WorldReadable];
    let access = fixture.publish(&[gcd(1)]).unwrap();
    let path = fixture.path("slurm_42.conf");
    let list = xattr::get(&path, "system.posix_acl_access");
    match access {
        Access::Acl => assert_eq!(&list.unwrap().unwrap()[12..20], [2, 0, 4, 0, 0x31, 0xd4, 0, 0]),
        _ => assert!(!matches!(list, Ok(Some(_)))),
    }
}

#[test]
fn a_planted_link_is_replaced_and_never_followed() {
    let fixture = Fixture::new();
    let victim = fixture.path("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, fixture.path("slurm_42.conf")).unwrap();
    symlink(&victim, fixture.path(".slurm_42.conf.new")).unwrap();
    fixture.publish(&[gcd(1)]).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(fs::symlink_metadata(fixture.path("slurm_42.conf")).unwrap().is_file());
    assert_eq!(fixture.names(), ["slurm_42.conf", "victim"]);

    fs::remove_file(fixture.path("slurm_42.conf")).unwrap();
    symlink(&victim, fixture.path("slurm_42.conf")).unwrap();
    fixture.dir.remove(&fixture.partition, 1).unwrap();
    assert_eq!(fixture.names(), ["victim"]);
}

#[test]
fn a_fifo_is_replaced_and_nobody_waits_for_its_reader() {
    let fixture = Fixture::new();
    for name in ["slurm_42.conf", ".slurm_42.conf.new"] {
        nix::unistd::mkfifo(&fixture.path(name), Mode::S_IRWXU).unwrap();
    }
    fixture.publish(&[gcd(1)]).unwrap();
    assert!(fs::symlink_metadata(fixture.path("slurm_42.conf")).unwrap().is_file());
    assert_eq!(fixture.names(), ["slurm_42.conf"]);
}

#[test]
fn a_file_planted_and_held_open_gets_no_content() {
    let fixture = Fixture::new();
    let planted = ["slurm_42.conf", ".slurm_42.conf.new"].map(|name| {
        fs::write(fixture.path(name), "").unwrap();
        fs::set_permissions(fixture.path(name), fs::Permissions::from_mode(0o666)).unwrap();
        fs::File::open(fixture.path(name)).unwrap()
    });
    fixture.publish(&[gcd(1)]).unwrap();
    for file in planted {
        let facts = file.metadata().unwrap();
        assert_eq!((facts.len(), facts.nlink()), (0, 0), "the planted file is empty and has no name");
    }
    let mode = fs::metadata(fixture.path("slurm_42.conf")).unwrap().mode();
    assert_eq!(mode & 0o007, 0, "the mode of the planted file is not taken over: {mode:o}");
}

#[test]
fn a_directory_that_is_swapped_under_way_does_not_lead_elsewhere() {
    let around = tempfile::tempdir().unwrap();
    let at = |name: &str| around.path().join(name);
    fs::create_dir(at("ipuof")).unwrap();
    fs::create_dir(at("elsewhere")).unwrap();
    let dir = IpuofDir::open(&at("ipuof")).unwrap();
    fs::rename(at("ipuof"), at("moved")).unwrap();
    symlink(at("elsewhere"), at("ipuof")).unwrap();
    let partition = PartitionId::new("slurm_42").unwrap();
    dir.publish(&partition, &[gcd(1)], READER).unwrap();
    fs::write(at("elsewhere").join("slurm_42.conf"), "precious").unwrap();
    assert!(at("moved").join("slurm_42.conf").exists());
    dir.remove(&partition, 1).unwrap();
    assert!(!at("moved").join("slurm_42.conf").exists());
    assert_eq!(fs::read_to_string(at("elsewhere").join("slurm_42.conf")).unwrap(), "precious");
}

#[test]
fn a_directory_in_the_way_is_named_and_nothing_left() {
    for name in ["slurm_42.conf", ".slurm_42.conf.new"] {
        let fixture = Fixture::new();
        fs::create_dir(fixture.path(name)).unwrap();
        let error = fixture.publish(&[gcd(1)]).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("a directory is in the way"), "{error}");
        assert_eq!(fixture.names(), [name]);
        let error = fixture.dir.remove(&fixture.partition, 1).unwrap_err().to_string();
        assert!(error.contains("a directory is in the way"), "{error}");
    }
}

#[test]
fn an_interrupted_write_leaves_nothing_after_the_removal() {
    let fixture = Fixture::new();
    fs::write(fixture.path(".slurm_42.conf.new"), "half").unwrap();
    fixture.dir.remove(&fixture.partition, 1).unwrap();
    assert!(fixture.names().is_empty());
}

#[test]
fn a_probe_leaves_no_trace() {
    let fixture = Fixture::new();
    let access = probe(fixture.temp.path()).unwrap();
    assert_eq!(access, fixture.publish(&[gcd(1)]).unwrap());
    assert_eq!(fixture.names(), ["slurm_42.conf"]);
}

#[test]
fn an_unusable_directory_is_named_with_advice() {
    let fixture = Fixture::new();
    fs::write(fixture.path("file"), "").unwrap();
    for (name, part) in [("absent", "has to exist on this host"), ("file", "has to be a directory")] {
        let path = fixture.path(name);
        let error = probe(&path).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()) && error.contains(part), "{error}");
    }
    // The kernel's own read-only files stand for a directory that refuses every user.
    assert!(probe(Path::new("/proc")).is_err());
}

#[test]
fn a_directory_one_may_not_write_is_named() {
    let fixture = Fixture::new();
    fs::set_permissions(fixture.temp.path(), fs::Permissions::from_mode(0o555)).unwrap();
    match probe(fixture.temp.path()) {
        Ok(_) => assert!(geteuid().is_root(), "only root writes where it may not"),
        Err(error) => {
            let part = format!("user {} has to be able to write there", geteuid());
            assert!(error.to_string().contains(&part), "{error}");
        }
    }
}

#[test]
fn fault_directory_that_users_cannot_enter_is_named() {
    let fixture = Fixture::new();
    let with_mode = |mode| {
        fs::set_permissions(fixture.temp.path(), fs::Permissions::from_mode(mode)).unwrap();
        probe(fixture.temp.path()).map_err(|error| error.to_string())
    };
    let path = fixture.temp.path().display();
    let told = format!("users cannot enter {path} (mode 0700): chmod o+x {path}");
    assert_eq!(with_mode(0o700), Err(told.clone()));
    assert_eq!(fixture.publish(&[gcd(1)]).map_err(|error| error.to_string()), Err(told));
    assert!(with_mode(0o710).is_ok() && with_mode(0o711).is_ok());
}

#[test]
fn a_mark_is_read_as_it_was_written() {
    let fixture = Fixture::new();
    let mark = || fixture.dir.mark(".vipu_a").unwrap();
    assert_eq!(mark(), None);
    for id in ["0123456789abcdef", "b"] {
        fixture.dir.set_mark(".vipu_a", id).unwrap();
        assert_eq!(mark().as_deref(), Some(id));
    }
    assert_eq!(fixture.names(), [".vipu_a"]);
}

#[test]
fn only_a_regular_file_is_a_mark() {
    let fixture = Fixture::new();
    fs::write(fixture.path("file"), "id").unwrap();
    symlink(fixture.path("file"), fixture.path(".vipu_a")).unwrap();
    nix::unistd::mkfifo(&fixture.path(".vipu_b"), Mode::S_IRWXU).unwrap();
    fs::create_dir(fixture.path(".vipu_c")).unwrap();
    for name in [".vipu_a", ".vipu_b", ".vipu_c"] {
        assert_eq!(fixture.dir.mark(name).unwrap(), None, "{name}");
    }
    fixture.dir.set_mark(".vipu_b", "id").unwrap();
    assert_eq!(fixture.dir.mark(".vipu_b").unwrap().as_deref(), Some("id"));
}
