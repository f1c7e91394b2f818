//! The order in which the document is looked for, and svipu.toml.

use std::fs;
use std::path::Path;

use clap::Parser as _;
use svipu::Arguments;

use insta::assert_snapshot;
use vipu_status::file_names;

use super::documents::{empty, pod64};
use super::{printed, run_in, run_on, surroundings};

/// Writes a document of this cluster.
fn document(path: &Path, cluster: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut status = empty();
    status.writer.cluster = cluster.into();
    fs::write(path, status.to_json().unwrap()).unwrap();
}

#[test]
fn cli_svipu_shows_a_user_his_own_jobs_in_a_document_that_hides_owners() {
    let folder = tempfile::tempdir().unwrap();
    let whole = pod64();
    let own = serde_json::to_vec(&whole.by_user()[&1000]).unwrap();
    fs::write(folder.path().join(file_names::own_jobs(&whole.writer.cluster, 1000)), own).unwrap();
    let document = folder.path().join(file_names::public(&whole.writer.cluster));
    fs::write(&document, whole.without_owners().to_json().unwrap()).unwrap();
    let users = |user| {
        let around = svipu::Surroundings { user, ..surroundings(&[]) };
        run_on(&document, "partitions -o id,user", &around).stdout
    };
    assert_snapshot!(users(1000) + &users(1001));
}

#[test]
fn cli_svipu_finds_the_document_in_the_documented_order() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let etc = root.join("etc");
    let slurm = root.join("slurm");
    fs::create_dir_all(&slurm).unwrap();
    fs::create_dir_all(etc.join("slurm")).unwrap();
    fs::create_dir_all(root.join("home/.config")).unwrap();
    let conf = slurm.join("slurm.conf");
    let home = root.join("home");
    let variable = root.join("variable/vipu_status.json");
    let shown = |variables: &[(&str, &Path)], option: Option<&Path>| {
        let mut around = surroundings(variables);
        around.etc.clone_from(&etc);
        let mut line = vec!["svipu".into()];
        line.extend(option.into_iter().flat_map(|path| ["--status".into(), path.as_os_str().to_owned()]));
        let output = svipu::run(&Arguments::try_parse_from(line).unwrap(), &around);
        let cluster = output.stdout.split("cluster ").nth(1).and_then(|text| text.split(',').next());
        cluster.map_or(output.stderr.clone(), ToOwned::to_owned)
    };
    let variables = [("HOME", &*home), ("SLURM_CONF", &*conf)];

    assert!(shown(&variables, None).contains("found no status document: give --status PATH"));

    let line = |path: &Path| format!("# IPUs\nrequired /lib/spank_ipuof.so ipuof_dir={}\n", path.display());
    document(&root.join("a/vipu_status.json"), "plugstack");
    fs::create_dir(etc.join("slurm/plugstack.conf.d")).unwrap();
    fs::write(etc.join("slurm/plugstack.conf"), "include plugstack.conf.d/*.conf\n").unwrap();
    fs::write(etc.join("slurm/plugstack.conf.d/ipus.conf"), line(&root.join("a"))).unwrap();
    assert_eq!(shown(&variables, None), "plugstack");

    document(&root.join("b/vipu_status.one.json"), "one");
    document(&root.join("b/vipu_status.two.json"), "two");
    fs::write(slurm.join("plugstack.conf"), line(&root.join("b"))).unwrap();
    assert!(shown(&variables, None).contains("vipu_status.one.json or "));
    fs::remove_file(root.join("b/vipu_status.two.json")).unwrap();
    assert_eq!(shown(&variables, None), "one");

    document(&root.join("b/vipu_status.json"), "beside_slurm_conf");
    assert_eq!(shown(&variables, None), "beside_slurm_conf");

    document(&root.join("c/status.json"), "etc");
    fs::write(etc.join("svipu.toml"), format!("status = \"{}/c/status.json\"\n", root.display())).unwrap();
    assert_eq!(shown(&variables, None), "etc");

    document(&root.join("d/vipu_status.json"), "home");
    fs::write(home.join(".config/svipu.toml"), format!("# mine\nstatus = '{}/d'\n", root.display())).unwrap();
    assert_eq!(shown(&variables, None), "home");

    document(&variable, "variable");
    let with_variable = [variables[0], variables[1], ("SVIPU_STATUS", &*variable)];
    assert_eq!(shown(&with_variable, None), "variable");

    document(&root.join("e/vipu_status.json"), "option");
    assert_eq!(shown(&with_variable, Some(&root.join("e"))), "option");

    fs::remove_file(home.join(".config/svipu.toml")).unwrap();
    fs::create_dir(home.join(".config/svipu.toml")).unwrap();
    assert!(shown(&variables, None).contains("svipu.toml: cannot read it"));
}

/// The output of a command with these files of the user and of the host. DIR is the folder of the user's file.
fn configured(own: &str, of_host: &str, line: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let own_folder = folder.path().join("own");
    fs::create_dir(&own_folder).unwrap();
    fs::write(own_folder.join("svipu.toml"), own).unwrap();
    fs::write(folder.path().join("svipu.toml"), of_host).unwrap();
    let mut around = surroundings(&[("XDG_CONFIG_HOME", &own_folder)]);
    around.etc = folder.path().to_owned();
    printed(&run_in(&pod64(), line, &around)).replace(own_folder.to_str().unwrap(), "DIR")
}

#[test]
fn cli_svipu_toml_sets_what_options_leave_open() {
    let own = "color = \"always\"\n[columns]\nqueue = \"job,size\"\n";
    let of_host =
        "color = \"never\"\nmodel = \"pod65\"\ncolumns.queue = \"user\"\ncolumns.partitions = \"id\"\n";
    assert!(configured(own, "", "queue").contains("JOB   IPUS"));
    assert!(configured(own, "", "map").contains('\u{1b}'));
    assert!(!configured(own, "", "map --color never").contains('\u{1b}'));
    assert!(configured(own, "", "queue -o job,user").contains("JOB   USER"));
    assert!(configured(own, of_host, "queue -M pod64").contains("JOB   IPUS"));
    assert!(configured(own, of_host, "partitions -M pod64 --color never").contains("\nID\nslurm_20\n"));
    assert!(configured(own, of_host, "queue").contains("model in svipu.toml: pod65 is unknown"));
}

#[test]
fn cli_svipu_toml_errors_are_one_line() {
    let texts = [
        "path = 3",
        "status = 3",
        "# colours\n\ncolor = \"sometimes\"",
        "[columns]\nmap = \"job\"",
        "columns = \"job\"",
        "columns = [\"job\", \"foo\"]",
        "status = \"a",
        "status = \"a\"\nstatus = \"b\"",
        "[columns]\nqueue = \"job,sise\"",
        "\u{1b}[2J = 1",
    ];
    let error = |text: &str| {
        let error = configured(text, "", "queue");
        assert_eq!(error.lines().count(), 3, "{error}");
        error.lines().nth(1).unwrap().to_owned() + "\n"
    };
    insta::assert_snapshot!(texts.map(error).concat());
}
