//! `svipu migrate`, on sites that used one of the vendor's ways.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;

use super::conf::Site;

const STOCK: &str = "ClusterName=pods\nSelectType=select/cons_tres # by CPU\nSelectTypeParameters=CR_CPU\n";

#[test]
fn cli_migrate_from_a_patched_slurm() {
    let slurm_conf = "# Pods\nSelectType=select/vipu\nSelectTypeParameters=other_cons_tres,CR_CPU\n\
                      GresTypes=gpu,vipu\nPropagateResourceLimitsExcept=MEMLOCK\nVipuIpuofDir=/shared/ipuof\n\
                      NodeName=DEFAULT CPUs=64 \\\n  Gres=gpu:2,vipu:pod64:64\nNodeName=n[1-4]\n";
    let vipu_conf = "ApiHost=10.1.3.101\nApiPort=8090\nSomeOldKey=1\n";
    let site = Site::new(&[("slurm.conf", slurm_conf), ("vipu.conf", vipu_conf)]);
    assert_snapshot!(site.run("migrate"));
}

#[test]
fn cli_migrate_from_static_partitions() {
    let site = Site::new(&[
        (
            "gres.conf",
            "Name=gpu File=/dev/nvidia0\nName=vipu Type=16 Count=4\nNodeName=n1 Name=vipu Count=1\n",
        ),
        ("job_submit.lua", "-- vipu\nfunction slurm_job_submit(job)\n  job.gres = \"vipu:16:1\"\nend\n"),
        (
            "prolog.sh",
            "#!/bin/sh\n# IPUs\nset -e\nPART=p$SLURM_JOB_ID\nvipu create partition $PART --size 16\nexit 0\n",
        ),
        ("epilog.sh", "#!/bin/sh\nrm -rf /tmp/job\nvipu remove partition p$SLURM_JOB_ID\n"),
        (
            "etc/vipu/vipu-cli.hcl",
            "api-host=\"10.1.3.101\"\napi-port=\"8091\"\napi-access-key=\"secret-key\"\n",
        ),
    ]);
    let scripts =
        format!("Prolog={}\nEpilog={}\n", site.path("prolog.sh").display(), site.path("epilog.sh").display());
    let nodes = "NodeName=n[1-4]\tGres=gpu:1,vipu:16:4\nGresTypes=gpu,vipu\nJobSubmitPlugins=lua\n";
    site.write("slurm.conf", &format!("{STOCK}{scripts}{nodes}"));
    let text = site.run("migrate");
    assert!(!text.contains("secret-key"), "{text}");
    assert_snapshot!(text);
}

#[test]
fn cli_migrate_from_static_partitions_to_a_pool() {
    let nodes = "NodeName=n1 Gres=vipu:16:2,gpu:1,vipu:4:8\nNodeName=n2 Gres=vipu:16:4\nGresTypes=gpu,vipu\n";
    let site = Site::new(&[("slurm.conf", &format!("{STOCK}{nodes}"))]);
    assert_snapshot!(site.run("migrate --pool"));
    let kept = "GresTypes=vipu\nNodeName=n1 Gres=vipu:16:no_consume:4\n";
    let site = Site::new(&[
        ("slurm.conf", kept),
        ("vipu.conf", "ApiHost=a\nIpuofDir=/shared/ipuof\nMode=pool\nPool=p16_*\n"),
    ]);
    let text = site.run("migrate");
    assert!(!text.contains("partitions made in advance") && !text.contains("+NodeName"), "{text}");
}

#[test]
fn cli_migrate_from_one_shared_partition() {
    let site = Site::new(&[(
        "task.sh",
        "#!/bin/sh\necho export IPUOF_VIPU_API_HOST=pod.example.org\necho export IPUOF_VIPU_API_PARTITION_ID=p64\n",
    )]);
    site.write("nodes.conf", "NodeName=n1 CPUs=4\n");
    let task = site.path("task.sh");
    let slurm_conf = "SelectType=select/linear\nPropagateResourceLimits=NONE\nInclude nodes.conf\n";
    site.write("slurm.conf", &format!("{slurm_conf}TaskProlog={}\n", task.display()));
    assert_snapshot!(site.run("migrate"));
}

#[test]
fn cli_migrate_from_hosts_with_ipus_of_their_own() {
    let site = Site::new(&[
        ("ipum.allocs", "n1,ag1\n"),
        ("prolog.d/ipu", "grep $HOST ipum.allocs\nlogger x\n"),
        ("prolog.d/d/x", ""),
    ]);
    let prolog = site.path("prolog.d/*");
    site.write("slurm.conf", &format!("{STOCK}NodeName=n1 CPUs=4\nProlog={}\n", prolog.display()));
    site.write("plugstack.conf", "optional \u{1b}[2J.so\nrequired spank_vipu.so");
    assert_snapshot!(site.run("migrate"));
}

#[test]
fn cli_migrate_of_a_site_with_slurm_vipu() {
    let slurm_conf = "SelectType=select/vipu\nGresTypes=vipu\nJobSubmitPlugins=lua,vipu\n\
                      PropagateResourceLimitsExcept=ALL\nNodeName=n1 Gres=vipu:pod64:no_consume:64\n";
    let plugstack = "required spank_ipuof.so ipuof_dir=/shared/ipuof\n";
    let vipu_conf = "ApiHost=a\nIpuofDir=/shared/ipuof\n";
    let files = |name| [("slurm.conf", slurm_conf), ("plugstack.conf", plugstack), (name, vipu_conf)];
    let site = Site::new(&files("vipu.conf"));
    let own_file = Site::new(&files("pod64.conf"));
    let none = site.run("migrate --slurm-conf DIR/none") + &site.run("migrate --json");
    assert_snapshot!(site.run("migrate") + &own_file.run("migrate") + &none);
}

#[test]
fn cli_migrate_diff_can_be_applied() {
    let site = Site::new(&[("slurm.conf", &format!("{STOCK}NodeName=n1 \\\n Gres=vipu:4:16,gpu:1 # x"))]);
    fs::write(site.path("diff"), site.run("migrate").replace("/etc/slurm/", "")).unwrap();
    // git applies diffs in any folder, and the build needs it anyway.
    let git = Command::new("git").args(["apply", "-p0", "diff"]).current_dir(site.path("")).output().unwrap();
    assert!(git.status.success(), "{git:?}");
    assert!(site.run("migrate").contains("need no change"), "{}", site.run("migrate"));
    assert!(site.run("conf check").contains("/etc/slurm/vipu.conf: no errors (model pod64)"));
}
