//! The images of the project's parts, in a pod of three containers: Slurm with the values of `packages/kubernetes`, the mock
//! controller, and the exporter.

use std::{fs, time::Duration};

use anyhow::{Context as _, Result, ensure};
use testbed::{compose, wait_until};

use crate::host::{Host, docker, given};

const LIMIT: Duration = Duration::from_secs(60);

/// The folder with the Dockerfile and the values for a site.
const SITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../packages/kubernetes");

/// Debian's own packages of Slurm have another folder of plugins than the images of Slinky.
const PLUGINDIR: &str = "PLUGINDIR=/usr/lib/x86_64-linux-gnu/slurm-wlm";

/// The operator's part of slurm.conf that matters here, and the lines that a container without privileges needs.
const OF_OPERATOR: &str = "\
ClusterName=ipu
SlurmUser=slurm
SlurmctldHost=slurmctld
StateSaveLocation=/var/spool/slurmctld
SlurmctldParameters=enable_configless
MaxNodeCount=1024
NodeSet=ipu Feature=ipu
PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
";

/// Starts munge, and makes the folders of the daemons.
const START: &str = r#"
    head --bytes=1024 /dev/urandom > /etc/munge/munge.key
    chown munge /etc/munge/munge.key
    chmod 400 /etc/munge/munge.key
    install -d -o munge /run/munge
    install -d -o slurm /run/slurm /var/spool/slurmctld
    install -d /var/spool/slurmd
    case $(slurmd -V) in
        *' 22.05.'*) echo CgroupPlugin=cgroup/v1 ;;
        *) echo CgroupPlugin=disabled ;;
    esac > /etc/slurm/cgroup.conf
    setpriv --reuid=munge --regid=munge --clear-groups munged
"#;

const SLURMCTLD: &str = "setpriv --reuid=slurm --regid=slurm --clear-groups slurmctld";

/// Asks the exporter.
const METRICS: &str =
    r#"bash -c 'exec 3<> /dev/tcp/127.0.0.1/9877; printf "GET /metrics HTTP/1.0\r\n\r\n" >&3; cat <&3'"#;

#[test]
fn pkg_images_make_a_pod_with_dynamic_nodes_whose_jobs_have_ipus() -> Result<()> {
    let values = fs::read_to_string(format!("{SITE}/values.yaml"))?;
    let slurm = slurm(&values)?;
    let beside = format!("--network=container:{}", slurm.id());
    let _controller = Host::of(&[&beside, &image("mock")?, "--preset=pod64", "--listen=127.0.0.1:8090"])?;
    let slurm_user = format!("--user={}", slurm.run("id --user slurm")?.trim());
    let state = format!("--volumes-from={}", slurm.id());
    let serve = ["exporter", "--listen=127.0.0.1:9877", "--status=/var/spool/slurmctld/vipu_status.json"];
    let _exporter = Host::of(&[&[&*beside, &slurm_user, &state, &image("tools")?], &serve[..]].concat())?;

    slurm.run(START)?;
    slurm.run(SLURMCTLD)?;
    let gres = line(&values, "Gres: ")?;
    slurm.run(&format!("slurmd -Z --conf-server slurmctld --conf 'Features=ipu Gres={gres}'"))?;
    await_output(&slurm, "sinfo --noheader --format=%T", "idle")?;
    let variables = slurm.run("srun --ipus=4 env")?;
    ensure!(variables.contains("\nIPUOF_VIPU_API_HOST=vipu-controller.example.org\n"), "{variables}");

    slurm.run("sbatch --ipus=8 --wrap='sleep 1000'")?;
    await_output(&slurm, METRICS, &ipus("used", 8))?;
    // As Kubernetes ends a pod. The next one has the same volume.
    slurm.run("pkill --exact slurmctld")?;
    await_output(&slurm, "pgrep --exact slurmctld || echo gone", "gone")?;
    slurm.run(SLURMCTLD)?;
    await_output(&slurm, "squeue --noheader --format=%T", "RUNNING")?;
    slurm.run("scancel --user root")?;
    await_output(&slurm, METRICS, &ipus("free", 64))?;
    Ok(())
}

/// Starts a container of Slurm with our files and the site's configuration. No daemon runs in it yet.
fn slurm(values: &str) -> Result<Host> {
    let (suite, built) = (given("SUITE")?, format!("slurm-vipu-site:{}", given("IMAGES")?));
    let (base, files) = (format!("BASE={}", compose::image(&suite)), format!("FILES={}", image("files")?));
    let arguments = [&*base, &files, PLUGINDIR].map(|argument| ["--build-arg", argument]).concat();
    docker(&[&["build", "--quiet", "--tag", &built], &arguments[..], &[SITE]].concat())?;
    // Slurm resolves no name in a container with a loopback device alone.
    let slurm = Host::of(&[
        "--hostname=slurmctld",
        "--add-host=vipu-controller.example.org:127.0.0.1",
        "--volume=/var/spool/slurmctld",
        "--entrypoint=sleep",
        &built,
        "infinity",
    ])?;
    let slurm_conf = format!("{OF_OPERATOR}{}", block(values, "extraConf: |")?);
    let files = [
        ("slurm.conf", slurm_conf),
        ("plugstack.conf", block(values, "plugstack.conf: |")?),
        ("vipu.conf", block(values, "vipu.conf: |")?),
    ];
    for (name, text) in files {
        slurm.run(&format!("cat > /etc/slurm/{name} << 'END'\n{text}END\n"))?;
    }
    Ok(slurm)
}

/// A line of the exporter.
fn ipus(used_as: &str, number: u32) -> String {
    format!(
        "vipu_ipus{{model=\"pod64\",controller=\"vipu-controller.example.org:8090\",use=\"{used_as}\"}} {number}\n"
    )
}

fn image(part: &str) -> Result<String> {
    Ok(format!("slurm-vipu-{part}:{}", given("IMAGES")?))
}

/// The lines of a block in the values, behind this line.
fn block(values: &str, head: &str) -> Result<String> {
    let indented = |line: &str| line.len() - line.trim_start().len();
    let mut lines = values.lines().skip_while(|line| line.trim_start() != head);
    let outer = indented(lines.next().with_context(|| format!("no `{head}` in the values"))?);
    Ok(lines
        .take_while(|line| indented(line) > outer)
        .map(|line| format!("{}\n", line.trim_start()))
        .collect())
}

/// The text behind a key of the values.
fn line<'a>(values: &'a str, key: &str) -> Result<&'a str> {
    let found = values.lines().find_map(|line| line.trim_start().strip_prefix(key));
    found.with_context(|| format!("no `{key}` in the values"))
}

/// Waits until a command writes these words.
fn await_output(host: &Host, command: &str, words: &str) -> Result<()> {
    let mut told = String::new();
    wait_until(&format!("`{command}` to say {words}"), LIMIT, || {
        told = host.run(&format!("{command} || true"))?;
        Ok(told.contains(words))
    })
    .with_context(|| told)
}
