//! The packages, by kind of host.

pub const MAINTAINER: &str = "The slurm-vipu project <maintainers@slurm-vipu.example>";

/// One package.
pub struct Package {
    pub name: &'static str,
    pub summary: &'static str,
    pub description: &'static str,
    /// Other packages of ours that it needs, in the same version.
    pub needs: &'static [&'static str],
    pub files: &'static [File],
    /// What an administrator has to do after the installation. slurm-vipu changes no file of Slurm.
    pub next: &'static str,
    /// What remains to be done after an upgrade.
    pub after_upgrade: Option<&'static str>,
}

/// Files that belong together.
pub enum File {
    /// A plugin, by its name in Slurm's plugin directory, without `.so`.
    Plugin(&'static str),
    /// A program that Slurm or a plugin starts, beside the plugins. Its crate has the same name.
    Helper(&'static str),
    /// A program that people start, and its crate. `PROGRAM man DIR` writes its man pages.
    Program(&'static str, &'static str),
    /// A file of the tree, and its place.
    Text(&'static str, &'static str),
    /// A folder of the tree with examples, and all that is below it.
    Examples(&'static str),
    /// What `PROGRAM completions SHELL` writes.
    Completions(&'static str),
}

use File::{Completions, Examples, Helper, Plugin, Program, Text};

pub const PACKAGES: &[&Package] = &[&LOGIN, &NODE, &CONTROLLER, &TOOLS, &MOCK];

pub const LOGIN: Package = Package {
    name: "slurm-vipu-login",
    summary: "Graphcore IPUs in Slurm: hosts with Slurm's commands",
    description: "The selector, which Slurm's commands of some releases load, and the options of srun, sbatch and \
                  salloc for IPUs. Nodes and controllers need this package as well.",
    needs: &[],
    files: &[Plugin("select_vipu"), Plugin("spank_ipuof"), Program("slurm-vipu-setup", "vipu-setup")],
    next: "Add to plugstack.conf: required spank_ipuof.so ipuof_dir=/shared/ipuof",
    after_upgrade: None,
};

pub const NODE: Package = Package {
    name: "slurm-vipu-node",
    summary: "Graphcore IPUs in Slurm: nodes that run jobs",
    description: "The GRES plugin, which checks the configuration of a node, and the program that fetches the IPUoF \
                  configuration of a job from the controller (Delivery=node).",
    needs: &["slurm-vipu-login"],
    files: &[
        Plugin("gres_vipu"),
        Helper("ipuof-fetch"),
        Helper("ipuof-oci"),
        Examples("packages/containers"),
        Text("packages/slurmd-memlock.conf", "/usr/lib/systemd/system/slurmd.service.d/50-slurm-vipu.conf"),
    ],
    next: "Add to slurm.conf: GresTypes=vipu, and Gres=vipu:pod64:no_consume:64 to the nodes. Then restart slurmd.",
    after_upgrade: None,
};

pub const CONTROLLER: Package = Package {
    name: "slurm-vipu-controller",
    summary: "Graphcore IPUs in Slurm: hosts of slurmctld",
    description: "The plugins that wait for IPUs, have partitions made on the V-IPU controller, and remove them.",
    needs: &["slurm-vipu-login"],
    files: &[
        Plugin("job_submit_vipu"),
        Plugin("vipu_slurmctld"),
        Examples("conf/one-node"),
        Examples("conf/two-models"),
        Examples("conf/secure"),
    ],
    next: "Write vipu.conf beside slurm.conf, with ApiHost= and IpuofDir=. Add to slurm.conf: SelectType=select/vipu, \
           SelectTypeParameters=CR_CPU, GresTypes=vipu, JobSubmitPlugins=vipu, PropagateResourceLimitsExcept=MEMLOCK. \
           Then restart slurmctld. Examples: /usr/share/doc/slurm-vipu-controller/examples",
    after_upgrade: Some("Restart slurmctld: it still runs the earlier plugins."),
};

pub const TOOLS: Package = Package {
    name: "slurm-vipu-tools",
    summary: "Graphcore IPUs in Slurm: svipu, and its exporter for Prometheus",
    description: "svipu shows Pods, partitions and waiting jobs, tells why a job waits, checks a site, and exports \
                  numbers to Prometheus.",
    needs: &[],
    files: &[
        Program("svipu", "svipu"),
        Completions("svipu"),
        Text("monitoring/vipu-exporter.service", "/usr/lib/systemd/system/vipu-exporter.service"),
        Text("monitoring/prometheus.yml", "/usr/share/doc/slurm-vipu-tools/examples/prometheus.yml"),
        Text("monitoring/vipu.rules.yml", "/usr/share/doc/slurm-vipu-tools/examples/vipu.rules.yml"),
        Text("monitoring/dashboard.json", "/usr/share/doc/slurm-vipu-tools/examples/dashboard.json"),
        Examples("packages/site"),
    ],
    next: "Check each host: svipu doctor. Start the exporter on the host of slurmctld: systemctl enable --now vipu-exporter",
    after_upgrade: None,
};

pub const MOCK: Package = Package {
    name: "slurm-vipu-mock",
    summary: "V-IPU controller without IPUs, to try slurm-vipu",
    description: "mock-vipu-server answers as a V-IPU controller does. It is for tests, not for a site's jobs.",
    needs: &[],
    files: &[Program("mock-vipu-server", "mock-vipu")],
    next: "Start it: mock-vipu-server --help",
    after_upgrade: None,
};
