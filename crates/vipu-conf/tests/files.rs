//! The file that a model's settings come from, and the settings that hold when it is broken.
#![allow(clippy::unwrap_used, reason = "the helpers of a test may fail by panicking, too")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;
use vipu_conf::{
    AdminSocket, InForce, Layer, LoadError, SavedConf, Settings, admin_socket_of, layer_of, load, need_pool,
};
use vipu_types::ModelName;

/// A directory with these files.
fn dir(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

fn model(name: &str) -> ModelName {
    ModelName::new(name).unwrap()
}

/// The settings of one model.
fn load_one(dir: &Path, name: &str) -> Result<Settings, LoadError> {
    load(dir, &[model(name)]).remove(&model(name)).unwrap().map(|file| file.settings)
}

fn text(host: &str) -> String {
    format!("ApiHost={host} IpuofDir=/x")
}

/// Reads the files of pod64 again. An earlier process may have kept settings with the controller `earlier`.
/// Returns the controller of the settings that hold now, and whether there is an error.
fn update(in_force: &mut InForce, dir: &Path, earlier: Option<&str>) -> (Option<String>, bool) {
    let models = [model("pod64")];
    let kept = |_: &ModelName| Settings::parse(&text(earlier?), Path::new("kept")).ok();
    in_force.update(load(dir, &models), kept);
    let standing = in_force.get(&models[0]).unwrap();
    let host = standing.settings.as_ref().map(|settings| settings.controllers[0].host().to_owned());
    (host, standing.error.is_some())
}

#[test]
fn a_model_has_its_own_file_or_the_shared_one() {
    let dir = dir(&[("vipu.conf", &text("shared")), ("pod16.conf", &text("own"))]);
    symlink("vipu.conf", dir.path().join("pod64.conf")).unwrap();
    assert_eq!(load_one(dir.path(), "pod16").unwrap().controllers[0].host(), "own");
    assert_eq!(load_one(dir.path(), "pod64").unwrap().controllers[0].host(), "shared");
    assert_eq!(load_one(dir.path(), "pod128").unwrap().controllers[0].host(), "shared");
}

#[test]
fn one_broken_file_hurts_no_other_model() {
    let dir = dir(&[("vipu.conf", &text("shared")), ("pod16.conf", "nonsense")]);
    let loaded = load(dir.path(), &[model("pod16"), model("pod64")]);
    let error = loaded[&model("pod16")].as_ref().unwrap_err();
    assert!(error.one_line().starts_with("pod16.conf:1: 'nonsense' has no value"), "{error}");
    assert!(loaded[&model("pod64")].is_ok());
}

#[test]
fn files_that_cannot_be_read_are_told_apart() {
    let dir = dir(&[("pod3.conf", &" ".repeat(70_000))]);
    fs::create_dir(dir.path().join("pod1.conf")).unwrap();
    symlink("pod2.conf", dir.path().join("pod2.conf")).unwrap();
    symlink("gone.conf", dir.path().join("pod4.conf")).unwrap();
    symlink("/dev/null", dir.path().join("pod5.conf")).unwrap();
    for (name, part) in [
        ("pod0", "neither "),
        ("pod1", "pod1.conf: it is no regular file"),
        ("pod2", "pod2.conf: Too many levels of symbolic links"),
        ("pod3", "pod3.conf: it has 70000 bytes, and a file of settings 65536 at most"),
        ("pod4", "pod4.conf is a symlink to gone.conf, which does not exist"),
        ("pod5", "pod5.conf: it is no regular file"),
    ] {
        let error = load_one(dir.path(), name).unwrap_err();
        assert!(error.to_string().contains(part), "{name}: {error}");
        assert_eq!(error.one_line(), error.to_string());
    }
}

#[test]
fn a_file_may_have_other_bytes_than_utf8_in_comments_only() {
    let told = |bytes: &[u8]| {
        let dir = dir(&[]);
        fs::write(dir.path().join("vipu.conf"), bytes).unwrap();
        load_one(dir.path(), "pod64").map_err(|why| why.to_string()).err()
    };
    let good = text("vipu");
    assert_eq!(told(format!("\u{feff}{good}").as_bytes()), None, "byte order mark");
    assert_eq!(told(&[b"# caf\xe9\n", good.as_bytes(), b" # \xfc\r\n"].concat()), None, "Latin-1");
    for (line, place) in [
        (&b"Cluster=caf\xe9"[..], ":2:9: 'caf\u{fffd}' is not UTF-8"),
        (b"Cl\xfcster=c", ":2:1: 'Cl\u{fffd}ster' is not UTF-8"),
    ] {
        let error = told(&[good.as_bytes(), b"\n", line].concat()).unwrap();
        assert!(error.contains(place), "{error}");
    }
}

#[test]
fn a_file_that_became_broken_leaves_the_old_settings_in_force() {
    let dir = dir(&[("vipu.conf", &text("first"))]);
    let mut in_force = InForce::default();
    let mut reread = |content: &str| {
        fs::write(dir.path().join("vipu.conf"), content).unwrap();
        update(&mut in_force, dir.path(), None)
    };
    assert_eq!(reread("broken"), (None, true));
    assert_eq!(reread(&text("first")), (Some("first".into()), false));
    assert_eq!(reread("broken again"), (Some("first".into()), true));
    assert_eq!(reread(&text("second")), (Some("second".into()), false));
    fs::remove_file(dir.path().join("vipu.conf")).unwrap();
    assert_eq!(update(&mut in_force, dir.path(), None), (Some("second".into()), true));
}

#[test]
fn settings_of_an_earlier_process_hold_only_until_a_file_is_good() {
    let dir = dir(&[("vipu.conf", "broken")]);
    let mut in_force = InForce::default();
    let mut reread = |content: &str| {
        fs::write(dir.path().join("vipu.conf"), content).unwrap();
        update(&mut in_force, dir.path(), Some("earlier"))
    };
    assert_eq!(reread("broken"), (Some("earlier".into()), true));
    assert_eq!(reread(&text("own")), (Some("own".into()), false));
    assert_eq!(reread("broken"), (Some("own".into()), true));
}

#[test]
fn a_model_taken_away_and_given_back_starts_anew() {
    let dir = dir(&[("vipu.conf", &text("x"))]);
    let mut in_force = InForce::default();
    assert_eq!(update(&mut in_force, dir.path(), None), (Some("x".into()), false));
    in_force.update(load(dir.path(), &[]), |_| None);
    assert_eq!(in_force.iter().count(), 0);
    fs::write(dir.path().join("vipu.conf"), "broken").unwrap();
    assert_eq!(update(&mut in_force, dir.path(), None), (None, true));
}

#[test]
fn sizes_on_nodes_need_a_pool() {
    let told = |line: &str| {
        let dir = dir(&[("vipu.conf", &format!("{}\n{line}", text("x")))]);
        let mut loaded = load(dir.path(), &[ModelName::of_sizes(), model("pod64")]);
        need_pool(&mut loaded);
        assert!(loaded[&model("pod64")].is_ok(), "other models need no pool");
        loaded[&ModelName::of_sizes()].as_ref().err().map(LoadError::one_line)
    };
    assert_eq!(told("Mode=pool Pool=16x4"), None);
    for (line, place) in [("", "vipu.conf: nodes offer"), ("Mode=partition", "vipu.conf:2: nodes offer")] {
        let error = told(line).unwrap();
        assert!(
            error.starts_with(place) && error.contains("write Mode=pool and Pool=<partitions> here"),
            "{error}"
        );
    }
}

/// A reload keeps the earlier settings then, as after any other error.
#[test]
fn mode_pool_with_impossible_ids_is_an_error_of_the_file() {
    let dir = dir(&[("vipu.conf", &format!("{}\nMode=pool Pool=4x1,slurm_17", text("x")))]);
    let error = load(dir.path(), &[model("pod64")])[&model("pod64")].as_ref().unwrap_err().one_line();
    let expected = "vipu.conf:2: Pool=4x1,slurm_17: slurm_17 is named like the partition of a job";
    assert_eq!(error, expected);
}

#[test]
fn cli_admin_socket_is_found_in_a_broken_file() {
    let at = |path: &str| Some(AdminSocket::At(path.into()));
    for (text, socket) in [
        ("oops\nNoKey=1\nadminsocket=/run/a b", at("/run/a")),
        ("AdminSocket=\"/run/a b\"", at("/run/a b")),
        ("AdminSocket=None", Some(AdminSocket::None)),
        ("AdminSocket=relative", None),
        (&format!("AdminSocket=/{}", "x".repeat(90)), None),
        ("ApiHost=x", None),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("vipu.conf"), text).unwrap();
        assert_eq!(admin_socket_of(dir.path()), socket, "{text}");
    }
}

#[test]
fn the_layer_is_found_in_a_broken_file() {
    for (text, layer) in [
        ("oops\nNoKey=1\nlayer=Linear\nApiPort=0", Some(Layer::Linear)),
        ("Layer=cons_tres", Some(Layer::ConsTres)),
        ("Layer=other", None),
        ("#Layer=linear", None),
    ] {
        let dir = dir(&[("vipu.conf", text)]);
        assert_eq!(layer_of(dir.path()), layer, "{text}");
        assert_eq!(layer_of(&dir.path().join("absent")), None);
    }
}

#[test]
fn mode_host_map_is_beside_the_file_of_its_model() {
    const MAP: &str = "a 0-3 ag1";
    let conf = format!("{} Mode=host Cluster=c HostMap=hosts.map", text("v"));
    let dir = dir(&[("pod64.conf", &conf), ("hosts.map", MAP)]);
    let hosts = |settings: Settings| settings.host_map.unwrap().map.hosts.len();
    assert_eq!(load_one(dir.path(), "pod64").map(hosts).unwrap(), 1);
    let state = tempfile::tempdir().unwrap();
    let kept = SavedConf::in_dir(state.path());
    kept.keep(&model("pod64"), &conf, Some(MAP)).unwrap();
    for (broken, part) in [(Some("a 0-4 ag1"), "hosts.map:1:3: 0-4 are 5 IPUs"), (None, "cannot read ")] {
        let map = dir.path().join("hosts.map");
        broken.map_or_else(|| fs::remove_file(&map), |text| fs::write(&map, text)).unwrap();
        let why = load_one(dir.path(), "pod64").unwrap_err().to_string();
        assert!(why.contains(part), "{why}");
        let earlier = kept.good(&model("pod64")).unwrap().unwrap();
        assert_eq!(hosts(earlier.settings), 1, "as it was kept");
    }
}
