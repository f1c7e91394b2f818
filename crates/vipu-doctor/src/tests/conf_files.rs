//! The healthy host with a wrong configuration file: exactly one finding.

use std::fs;

use insta::assert_snapshot;

use super::tree::{SLURM, STACK, Tree, VIPU, each_has_one_finding};

#[test]
fn cli_doctor_slurm_conf_is_wrong() {
    let lines = each_has_one_finding(&[
        ("selector", |tree| tree.replace(SLURM, "select/vipu", "select/cons_tres")),
        ("no selector", |tree| tree.replace(SLURM, "SelectType=select/vipu\n", "")),
        ("no parameters", |tree| tree.replace(SLURM, "SelectTypeParameters=CR_CPU\n", "")),
        ("vendor's parameters", |tree| tree.replace(SLURM, "=CR_CPU", "=other_cons_tres,CR_CPU")),
        ("unknown parameter", |tree| tree.replace(SLURM, "=CR_CPU", "=CR_Bogus,cr_lln")),
        ("no GresTypes", |tree| tree.replace(SLURM, "GresTypes=gpu,vipu", "GresTypes=gpu")),
        ("no submit plugin", |tree| tree.replace(SLURM, "JobSubmitPlugins=vipu\n", "")),
        ("not the last submit plugin", |tree| tree.replace(SLURM, "Plugins=vipu", "Plugins=vipu,lua")),
        ("limits", |tree| tree.replace(SLURM, "PropagateResourceLimitsExcept=MEMLOCK\n", "")),
        ("all limits", |tree| tree.replace(SLURM, "Except=MEMLOCK", "=ALL")),
        ("all limits beside others", |tree| tree.replace(SLURM, "Cl", "PropagateResourceLimits=ALL\nCl")),
        ("no limits beside others", |tree| tree.replace(SLURM, "Cl", "PropagateResourceLimits=NONE\nCl")),
        ("Prolog hears srun", |tree| tree.replace(SLURM, "Flags=Contain", "Flags=Serial")),
        ("no_consume", |tree| tree.replace(SLURM, "no_consume:", "")),
        ("no IPUs", |tree| tree.replace(SLURM, ",vipu:pod64:no_consume:64", "")),
        ("nodes that register themselves", |tree| {
            tree.replace(SLURM, "Gres=gpu:1,vipu:pod64:no_consume:64", "\nMaxNodeCount=8");
            tree.replace(SLURM, "select/vipu", "select/vipu_cons_tres");
            fs::rename(
                tree.path("/usr/lib/slurm/select_vipu.so"),
                tree.path("/usr/lib/slurm/select_vipu_cons_tres.so"),
            )
            .unwrap();
        }),
        ("nodes that register themselves, with another selector", |tree| {
            tree.replace(SLURM, "SelectType=select/vipu", "MaxNodeCount=8\nSelectType=select/linear");
        }),
        ("nodes that register themselves, with a name that Slurm refuses", |tree| {
            tree.replace(SLURM, "ClusterName", "MaxNodeCount=8\nClusterName");
        }),
        ("more IPUs than the Pod has", |tree| tree.replace(SLURM, "no_consume:64", "no_consume:256")),
        ("no model", |tree| tree.replace(SLURM, "vipu:pod64:no_consume", "vipu:no_consume")),
        ("number", |tree| tree.replace(SLURM, "no_consume:64", "no_consume:48")),
        ("no number", |tree| tree.replace(SLURM, "no_consume:64", "no_consume")),
        ("bad model", |tree| tree.replace(SLURM, "vipu:pod64:", "vipu:64pod:")),
        ("sizes without a pool", |tree| tree.replace(SLURM, "pod64:no_consume:64", "16:no_consume:4")),
        ("no size", |tree| {
            tree.replace(SLURM, "pod64:no_consume:64", "12:no_consume:4");
            tree.replace(VIPU, "IpuofDir", "Mode=pool\nPool=16x4\nIpuofDir");
        }),
        ("a size that the pool lacks", |tree| {
            tree.replace(SLURM, "vipu:pod64:no_consume:64", "vipu:16:no_consume:2,vipu:8:no_consume:2");
            tree.replace(VIPU, "IpuofDir", "Mode=pool\nPool=16x2\nIpuofDir");
        }),
        ("a size that no node offers", |tree| {
            tree.replace(SLURM, "pod64:no_consume:64", "16:no_consume:2");
            tree.replace(VIPU, "IpuofDir", "Mode=pool\nPool=16x2,4x2,big\nIpuofDir");
        }),
        ("accounting", |tree| tree.replace(SLURM, "AccountingStorageTRES=gres/vipu\n", "")),
        ("a QOS that denies", |tree| {
            tree.replace("/usr/bin/sacctmgr", "low", "low|DenyOnLimit|gres/vipu=16||")
        }),
        ("no pair", |tree| tree.replace(SLURM, "ClusterName=test", "ClusterName=test\nnonsense")),
        ("nodes in two lines", |tree| {
            tree.replace(SLURM, "NodeName=ctl,", "NodeName=n[09,02] CPUs=2\nNodeName=ctl,")
        }),
        ("missing include", |tree| tree.replace(SLURM, "Cl", "Include gone.conf\nCl")),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_vipu_conf_is_wrong() {
    let lines = each_has_one_finding(&[
        ("unknown key", |tree| tree.replace(VIPU, "IpuofDir", "IpufDir=1\nIpuofDir")),
        ("two errors", |tree| tree.replace(VIPU, "IpuofDir", "IpufDir=1\nIpuofDirs")),
        ("missing", |tree| tree.remove(VIPU)),
        ("an error beside the file of the model", |tree| {
            tree.write("/etc/slurm/pod64.conf", fs::read(tree.path(VIPU)).unwrap());
            tree.write(VIPU, "Layer=linaer\n");
        }),
        ("misspelt model", |tree| tree.write("/etc/slurm/pod46.conf", "apihost = x\nIpuofDir=/x\n")),
        ("more IPUs than the Pod has", |tree| tree.replace(VIPU, "IpuofDir", "MaxIpusPerJob=128\nIpuofDir")),
        ("Latin-1", |tree| {
            let bytes = fs::read(tree.path(VIPU)).unwrap();
            tree.write(VIPU, [&b"# caf\xe9\nAllocation=caf\xe9\n"[..], &bytes].concat());
        }),
        ("a copy of slurm.conf", |tree| tree.write(VIPU, fs::read(tree.path(SLURM)).unwrap())),
        ("directory", |tree| {
            tree.remove(VIPU);
            fs::create_dir(tree.path(VIPU)).unwrap();
        }),
        ("link to nothing", |tree| {
            std::os::unix::fs::symlink("gone", tree.path("/etc/slurm/pod64.conf")).unwrap()
        }),
        ("no time to save", |tree| {
            tree.replace(SLURM, "ClusterName=test", "ClusterName=test\nKillWait=60");
            tree.replace(SLURM, "vipu:pod64", "vipu:pod16:no_consume:16,vipu:pod64");
        }),
        ("Slurm partition", |tree| tree.replace(VIPU, "debug:16", "debug:16,shrot:8")),
        ("QOS", |tree| tree.replace(VIPU, "normal:32", "normal:32,hihg:8")),
        ("no fetcher", |tree| {
            tree.replace(VIPU, "IpuofDir=/shared/ipuof", "Delivery=node");
            tree.replace(STACK, " ipuof_dir=/shared/ipuof", "");
        }),
        ("layer", |tree| {
            tree.replace(VIPU, "IpuofDir", "Layer=linear\nIpuofDir");
            tree.replace(SLURM, "=CR_CPU", "=other_cons_tres,CR_CPU");
            tree.facts = |facts| facts.plugins.release = "23.11.4".parse().ok();
        }),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_plugstack_is_wrong() {
    let lines = each_has_one_finding(&[
        ("missing", |tree| tree.remove(STACK)),
        ("another plugin", |tree| tree.replace(STACK, "spank_ipuof.so", "spank_x11.so")),
        ("comment", |tree| tree.replace(STACK, "required", "#required")),
        ("optional", |tree| tree.replace(STACK, "required", "optional")),
        ("another directory", |tree| tree.replace(STACK, "=/shared/ipuof", "=/shared")),
        ("no directory", |tree| tree.replace(STACK, " ipuof_dir=/shared/ipuof", "")),
        ("twice", |tree| tree.replace(STACK, "\n", "\nrequired spank_ipuof.so\n")),
        ("unknown argument", |tree| tree.replace(STACK, "\n", " ipouf=3\n")),
        ("not sent to nodes", |tree| {
            fs::rename(tree.path(STACK), tree.path("/etc/slurm/ipuof.conf")).unwrap();
            tree.write(STACK, "include /etc/slurm/ipu*.conf\n");
        }),
        ("no file", |tree| tree.remove("/usr/lib/slurm/spank_ipuof.so")),
        ("carriage return", |tree| {
            tree.replace(STACK, "\n", "\r\n");
            tree.replace(STACK, "required", "# ours\r\n\r\nrequired x.so # other\r\nrequired");
        }),
        ("pyxis above", |tree| tree.replace(STACK, "required", "required /opt/spank_pyxis.so x=y\nrequired")),
        ("pyxis above in another file", |tree| {
            tree.write("/etc/slurm/stack.d/10-auks.conf", "optional x11.so\noptional auks.so\n");
            tree.replace(STACK, "required", "include stack.d/*.conf\nrequired");
        }),
    ]);
    assert_snapshot!(lines);
}

#[test]
fn cli_doctor_file_of_a_model_on_a_site_without_models() {
    let tree = Tree::healthy();
    tree.replace(SLURM, ",vipu:pod64:no_consume:64", "");
    fs::rename(tree.path(VIPU), tree.path("/etc/slurm/pod64.conf")).unwrap();
    assert_snapshot!(tree.lines(&tree.examine()), @"
    error: slurm.conf: no node has a vipu GRES, so that no job gets IPUs; write Gres=vipu:<model>:no_consume:<IPUs of the Pod> into the lines of the nodes
    warning: pod64.conf: no node has the model of this file, so that it is not read; write the model into Gres= of its nodes, or remove the file
    ");
}

/// Slurm and slurm-vipu take the carriage returns of these files for blanks.
#[test]
fn cli_doctor_files_from_windows_are_right() {
    let tree = Tree::healthy();
    tree.replace(SLURM, "\n", "\r\n");
    tree.replace(VIPU, "\n", "\r\n");
    tree.replace(VIPU, "ApiHost", "\u{feff}ApiHost");
    tree.replace(STACK, "\n", "\nrequired spank_pyxis.so\n");
    assert_eq!(tree.lines(&tree.examine()), "");
}
