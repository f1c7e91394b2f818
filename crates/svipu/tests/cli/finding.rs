//! The order in which the document is looked for.

use std::fs;
use std::path::Path;

use clap::Parser as _;
use svipu::Arguments;

use super::documents::empty;
use super::surroundings;

/// Writes a document of this cluster.
fn document(path: &Path, cluster: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut status = empty();
    status.writer.cluster = cluster.into();
    fs::write(path, status.to_json().unwrap()).unwrap();
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

    document(&root.join("b/vipu_status.json"), "beside_slurm_conf");
    fs::write(slurm.join("plugstack.conf"), line(&root.join("b"))).unwrap();
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

    fs::write(home.join(".config/svipu.toml"), "path = 3\n").unwrap();
    assert!(shown(&variables, None).contains("'path = 3' is unknown: write status = \"PATH\""));

    fs::remove_file(home.join(".config/svipu.toml")).unwrap();
    fs::create_dir(home.join(".config/svipu.toml")).unwrap();
    assert!(shown(&variables, None).contains("svipu.toml: cannot read it"));
}
