//! The healthy host with a wrong configuration file: exactly one finding.

use std::fs;

use insta::assert_snapshot;

use super::ways::{SLURM, STACK, VIPU, each_has_one_finding, unchanged};

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
        (
            "limits in both keys",
            |tree| tree.replace(SLURM, "Except=MEMLOCK", "=NONE\nPropagateResourceLimitsExcept=NOFILE"),
            unchanged,
        ),
        (
            "limits in a list",
            |tree| tree.replace(SLURM, "PropagateResourceLimitsExcept=", "PropagateResourceLimits=NOFILE,"),
            unchanged,
        ),
        ("other limits", |tree| tree.replace(SLURM, "Except=MEMLOCK", "Except=NOFILE"), unchanged),
        ("Prolog hears srun", |tree| tree.replace(SLURM, "Flags=Contain", "Flags=Serial"), unchanged),
        ("no_consume", |tree| tree.replace(SLURM, "no_consume:", ""), unchanged),
        ("no IPUs", |tree| tree.replace(SLURM, ",vipu:pod64:no_consume:64", ""), unchanged),
        (
            "nodes that register themselves",
            |tree| tree.replace(SLURM, "Gres=gpu:1,vipu:pod64:no_consume:64", "\nMaxNodeCount=8"),
            unchanged,
        ),
        ("no model", |tree| tree.replace(SLURM, "vipu:pod64:no_consume", "vipu:no_consume"), unchanged),
        ("number", |tree| tree.replace(SLURM, "no_consume:64", "no_consume:48"), unchanged),
        ("no number", |tree| tree.replace(SLURM, "no_consume:64", "no_consume"), unchanged),
        ("bad model", |tree| tree.replace(SLURM, "vipu:pod64:", "vipu:64pod:"), unchanged),
        (
            "sizes without a pool",
            |tree| tree.replace(SLURM, "pod64:no_consume:64", "16:no_consume:4"),
            unchanged,
        ),
        (
            "no size",
            |tree| {
                tree.replace(SLURM, "pod64:no_consume:64", "12:no_consume:4");
                tree.replace(VIPU, "IpuofDir", "Mode=pool\nPool=16x4\nIpuofDir");
            },
            unchanged,
        ),
        (
            "a size that the pool lacks",
            |tree| {
                tree.replace(SLURM, "vipu:pod64:no_consume:64", "vipu:16:no_consume:2,vipu:8:no_consume:2");
                tree.replace(VIPU, "IpuofDir", "Mode=pool\nPool=16x2\nIpuofDir");
            },
            unchanged,
        ),
        (
            "a size that no node offers",
            |tree| {
                tree.replace(SLURM, "pod64:no_consume:64", "16:no_consume:2");
                tree.replace(VIPU, "IpuofDir", "Mode=pool\nPool=16x2,4x2,big\nIpuofDir");
            },
            unchanged,
        ),
        ("accounting", |tree| tree.replace(SLURM, "AccountingStorageTRES=gres/vipu\n", ""), unchanged),
        (
            "a QOS that denies",
            |tree| tree.replace("/usr/bin/sacctmgr", "low", "low|DenyOnLimit|gres/vipu=16||"),
            unchanged,
        ),
        ("no pair", |tree| tree.replace(SLURM, "ClusterName=test", "ClusterName=test\nnonsense"), unchanged),
        (
            "nodes in two lines",
            |tree| tree.replace(SLURM, "NodeName=ctl,", "NodeName=n[09,02] CPUs=2\nNodeName=ctl,"),
            unchanged,
        ),
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
            "an error beside the file of the model",
            |tree| {
                tree.write("/etc/slurm/pod64.conf", fs::read(tree.path(VIPU)).unwrap());
                tree.write(VIPU, "Layer=linaer\n");
            },
            unchanged,
        ),
        (
            "misspelt model",
            |tree| tree.write("/etc/slurm/pod46.conf", "apihost = x\nIpuofDir=/x\n"),
            unchanged,
        ),
        (
            "link to nothing",
            |tree| std::os::unix::fs::symlink("gone", tree.path("/etc/slurm/pod64.conf")).unwrap(),
            unchanged,
        ),
        (
            "no time to save",
            |tree| {
                tree.replace(SLURM, "ClusterName=test", "ClusterName=test\nKillWait=60");
                tree.replace(SLURM, "vipu:pod64", "vipu:pod16:no_consume:16,vipu:pod64");
            },
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
