//! Steps in containers see the IPUs of their job: with Slurm's `--container`, and with the lines of the page for users.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use testbed::{Cluster, Settings, programs};
use vipu_types::Delivery;

use super::owner;
use crate::jobs::ended;
use crate::quick;

/// What a program in a step finds. The grant is for the SPANK plugin alone.
const SHOW: &str = "[ -z \"$IPUOF_CONFIG_PATH\" ] || cat \"$IPUOF_CONFIG_PATH\"; ulimit -l; \
    env | grep -E '^(IPUOF|SLURM_VIPU)_' | grep -v -E '^SLURM_VIPU_(JOB_|HOSTS|POPRUN)' | sort";

/// Makes the file system of a container, with busybox as its only program.
fn root_file_system(at: &Path) -> Result<()> {
    // Charliecloud's images have the directory /mnt/9, and these files of /etc.
    for directory in ["bin", "proc", "sys", "dev", "tmp", "etc", "mnt/9"] {
        fs::create_dir_all(at.join(directory))?;
    }
    for file in ["passwd", "group", "hosts", "resolv.conf"] {
        fs::write(at.join("etc").join(file), "")?;
    }
    fs::copy(programs::find("busybox")?, at.join("bin/busybox"))?;
    for applet in ["sh", "cat", "env", "grep", "sort"] {
        symlink("busybox", at.join("bin").join(applet))?;
    }
    Ok(())
}

/// Makes a bundle for a container without privileges of the job's owner, as runc proposes it.
fn bundle(cluster: &Cluster) -> Result<PathBuf> {
    let (owner, bundle) = (owner()?, cluster.layout().jobs().join("bundle"));
    root_file_system(&bundle.join("rootfs"))?;
    chown(&bundle, Some(owner.uid), Some(owner.gid))?;
    for directory in ["", "bin", "proc", "sys", "dev", "tmp", "etc", "mnt", "mnt/9"] {
        chown(bundle.join("rootfs").join(directory), Some(owner.uid), Some(owner.gid))?;
    }
    let folder = bundle.display().to_string();
    cluster.command("runc").args(&["spec", "--rootless", "--bundle", &folder]).account(&owner).success()?;
    Ok(bundle)
}

/// Slurm with the runtime as on the page for administrators. Its state is in the folder of the step.
fn with_runtime() -> Result<Settings> {
    let own = programs::find("ipuof-oci")?.display().to_string();
    let line = |key: &str, own: &str, command: &str| {
        format!("{key}=\"{own}runc --root=%b/state {command} %n.%u.%j.%s.%t\"\n")
    };
    let oci_conf = [
        line("RunTimeQuery", "", "state"),
        line("RunTimeKill", "", "kill -a"),
        line("RunTimeDelete", "", "delete --force"),
        line("RunTimeRun", &format!("{own} "), "run --bundle=%b"),
    ];
    Ok(quick().conf_file("oci.conf", &oci_conf.concat()))
}

#[test]
fn user_container_of_slurm_has_the_ipus_of_its_step() -> Result<()> {
    for delivery in [Delivery::File, Delivery::Api, Delivery::Node] {
        with_runtime()?.delivery(delivery).run(|cluster| {
            let folder = bundle(cluster)?;
            fs::write(cluster.layout().jobs().join("show"), SHOW)?;
            // Each step has a folder of its own for fetched files.
            let script = format!(
                "srun sh ./show > outside\nsrun --container={} sh -c \"$(cat show)\" > inside\nsed -i 's#/steps/[^/]*/#/steps/#' outside inside\ndiff outside inside && wc -l < inside",
                folder.display()
            );
            let command = cluster.sbatch_command(&script, &["--gres=vipu:pod64:2"])?.account(&owner()?);
            let job = cluster.submit(command)?;
            ended(cluster, job, "COMPLETED").with_context(|| cluster.job_output(job))?;
            // srun may have said before that the first step still ends.
            let output = cluster.job_output(job);
            let lines: u32 = output.lines().last().unwrap_or_default().parse().context(output.clone())?;
            ensure!(lines >= 7, "{delivery:?}: {}", cluster.job_file("inside"));
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn user_container_of_slurm_without_ipus_is_left_alone() -> Result<()> {
    with_runtime()?.run(|cluster| {
        let folder = bundle(cluster)?;
        let script = format!("srun --container={} sh -c 'env | grep -c IPUOF; true'", folder.display());
        let job = cluster.submit(cluster.sbatch_command(&script, &[])?.account(&owner()?))?;
        ended(cluster, job, "COMPLETED")?;
        ensure!(cluster.job_output(job) == "0\n", "{}", cluster.job_output(job));
        Ok(())
    })
}

/// Runs SHOW in a container that `start` starts, and outside. `svipu env` with an option for `runtime` gives OPTIONS.
fn shows_the_same(cluster: &Cluster, runtime: &str, start: &str) -> Result<()> {
    let svipu = programs::find("svipu")?;
    fs::write(cluster.layout().jobs().join("show"), SHOW)?;
    let script = format!(
        "export USER=root\nOPTIONS=$({} env --{runtime})\nsh ./show > outside\n{start} sh -c \"$(cat show)\" > inside",
        svipu.display()
    );
    let job = cluster.sbatch(&script, &["--gres=vipu:pod64:2"])?;
    ended(cluster, job, "COMPLETED")?;
    let (outside, inside) = (cluster.job_file("outside"), cluster.job_file("inside"));
    let folder = cluster.layout().ipuof().display().to_string();
    let moved = outside.replace(&folder, "/mnt/9");
    let expected = if runtime == "charliecloud" { moved } else { outside };
    // A daemon has limits of its own.
    let without_limit =
        |text: &str| text.lines().filter(|line| line.parse::<u64>().is_err()).collect::<Vec<_>>().join("\n");
    ensure!(
        without_limit(&expected) == without_limit(&inside) && inside.contains("devices"),
        "outside:\n{expected}\ninside:\n{inside}\n{}",
        cluster.job_output(job)
    );
    Ok(())
}

#[test]
fn user_container_of_charliecloud_has_the_ipus_of_its_step() -> Result<()> {
    quick().run(|cluster| {
        let image = cluster.layout().jobs().join("image");
        root_file_system(&image)?;
        shows_the_same(cluster, "charliecloud", &format!("ch-run $OPTIONS {} --", image.display()))
    })
}

#[test]
fn user_container_of_each_task_has_the_gcd_of_its_task() -> Result<()> {
    quick().run(|cluster| {
        let image = cluster.layout().jobs().join("image");
        root_file_system(&image)?;
        let (svipu, image) = (programs::find("svipu")?, image.display());
        let svipu = svipu.display();
        // In quotes, as on the page: each task asks for its own options.
        let line = format!(
            "ch-run $({svipu} env --charliecloud) {image} -- grep -o -E gcd[0-9].conf /proc/self/environ"
        );
        let script = format!("export USER=root\nsrun bash -c '{line}' | sort");
        let job = cluster.sbatch(&script, &["--gres=vipu:pod64:2", "--ntasks=2", "--ipu-gcds=2"])?;
        ended(cluster, job, "COMPLETED").with_context(|| cluster.job_output(job))?;
        ensure!(cluster.job_output(job) == "gcd0.conf\ngcd1.conf\n", "{}", cluster.job_output(job));
        Ok(())
    })
}

#[test]
fn user_container_of_podman_has_the_ipus_of_its_step() -> Result<()> {
    quick().run(|cluster| {
        let jobs = cluster.layout().jobs();
        root_file_system(&jobs.join("image"))?;
        let (store, state) = (jobs.join("store").display().to_string(), jobs.join("state").display().to_string());
        // Its defaults for these limits need CAP_SYS_RESOURCE, which root in a container lacks.
        let limits = "--ulimit=nofile=1024:1024 --ulimit=nproc=1000:1000";
        let podman = format!(
            "podman --runtime=runc --cgroup-manager=cgroupfs --storage-driver=vfs --root={store} --runroot={state} run --rm {limits}"
        );
        shows_the_same(cluster, "podman", &format!("{podman} $OPTIONS --rootfs {}", jobs.join("image").display()))
    })
}

#[test]
fn user_container_of_docker_has_the_ipus_of_its_step() -> Result<()> {
    quick().run(|cluster| {
        let image = cluster.layout().jobs().join("image");
        root_file_system(&image)?;
        let name = format!("slurm-vipu-test:{}", std::process::id());
        let import = format!("tar -C {} -c . | docker import - {name}", image.display());
        cluster.command("bash").args(&["-c", &import]).success()?;
        // Root in a container cannot raise its limit.
        let options = "$(prlimit --memlock=unlimited true 2> /dev/null && echo $OPTIONS || echo ${OPTIONS#--ulimit=memlock=-1:-1})";
        let shown = shows_the_same(cluster, "docker", &format!("docker run --rm {options} {name}"));
        cluster.command("docker").args(&["rmi", &name]).success()?;
        shown
    })
}
