//! `svipu env`: the variables of a running job.

use std::fs;
use std::path::Path;
use std::process::Command;

use vipu_status::{State, Status};

use super::documents::pod64;
use super::{printed, run_in, surroundings};

/// The output with a directory of IPUoF files, which is called DIR.
fn env(status: &Status, line: &str, files: &[&str], variables: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = env_in(status, line, &folder.path().join("ipuof"), files, variables);
    output.replace(folder.path().join("ipuof").to_str().unwrap(), "DIR")
}

fn env_in(status: &Status, line: &str, ipuof: &Path, files: &[&str], variables: &[(&str, &str)]) -> String {
    let etc = ipuof.parent().unwrap();
    fs::create_dir(ipuof).unwrap();
    files.iter().for_each(|name| fs::write(ipuof.join(name), "{}").unwrap());
    fs::create_dir(etc.join("slurm")).unwrap();
    let conf = format!("required spank_ipuof.so ipuof_dir={}\n", ipuof.display());
    fs::write(etc.join("slurm/plugstack.conf"), conf).unwrap();
    let mut around = surroundings(&[]);
    around.etc = etc.to_owned();
    around.variables.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())));
    printed(&run_in(status, line, &around))
}

#[test]
fn cli_svipu_env_of_a_running_job() {
    let one = env(&pod64(), "env 20", &["slurm_20.conf"], &[("IPUOF_VIPU_API_HOST", "other")]);
    let several = env(&pod64(), "env 20 --gcd 1", &["slurm_20_gcd0.conf", "slurm_20_gcd1.conf"], &[]);
    insta::assert_snapshot!(format!("{one}\n{several}"));
}

#[test]
fn cli_svipu_env_of_a_shared_partition() {
    let mut shared = pod64();
    shared.models[0].shared_partition = Some("all".into());
    let text = env(&shared, "env 20", &[], &[("IPUOF_CONFIG_PATH", "/other")]);
    insta::assert_snapshot!(text + &env(&shared, "env 20 --gcd 1", &[], &[]));
}

#[test]
fn cli_svipu_env_finds_the_job() {
    let file = &["slurm_20.conf", "slurm_23.conf"];
    assert!(env(&pod64(), "env", file, &[]).contains("SLURM_VIPU_PARTITION=slurm_20\n"));
    assert!(
        env(&pod64(), "env", file, &[("SLURM_JOB_ID", "23")]).contains("SLURM_VIPU_PARTITION=slurm_23\n")
    );
}

#[test]
fn cli_svipu_env_refuses_with_the_reason() {
    let mut ending = pod64();
    ending.partitions[0].state = State::Ending;
    let mut two = pod64();
    two.partitions[3].state = State::Running;
    let file = &["slurm_20.conf"];
    let texts = [
        env(&two, "env", file, &[]),
        env(&pod64().without_owners(), "env", file, &[]),
        env(&pod64(), "env 21", file, &[]),
        env(&pod64(), "env 31", file, &[]),
        env(&pod64(), "env 99", file, &[]),
        env(&ending, "env 20", file, &[]),
        env(&pod64(), "env 20", &[], &[]),
        env(&pod64(), "env 20 --gcd 1", file, &[]),
        printed(&run_in(&pod64(), "env 20", &surroundings(&[]))),
    ];
    insta::assert_snapshot!(texts.concat());
}

/// A shell takes the commands, whatever the name of the directory.
#[test]
fn cli_svipu_env_is_for_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let ipuof = folder.path().join("it's`exit`$HOME\"\\;&|*");
    let text = env_in(&pod64(), "env 20", &ipuof, &["slurm_20.conf"], &[]);
    let script = format!("{text}\nprintf %s \"$IPUOF_CONFIG_PATH\"");
    let output = Command::new("sh").args(["-euc", &script]).output().unwrap();
    let file = ipuof.join("slurm_20.conf");
    assert_eq!(String::from_utf8_lossy(&output.stdout), file.to_str().unwrap(), "{text}");
}

#[test]
fn cli_svipu_env_for_containers() {
    let in_step = [
        ("IPUOF_CONFIG_PATH", "/shared/ipuof/slurm_20.conf"),
        ("IPUOF_LOG_LEVEL", "INFO"),
        ("SLURM_VIPU_HOSTS", "n1,n2"),
        ("SLURM_VIPU_JOB_20", "slurm_20,pod64,16,1"),
        ("SLURM_VIPU_POPRUN", "--host=n1,n2 --num-instances=2"),
    ];
    let api = [("IPUOF_VIPU_API_HOST", "vipu"), ("IPUOF_VIPU_API_PARTITION_ID", "slurm_20")];
    let file = &["slurm_20.conf"];
    let mut texts = String::new();
    for runtime in ["docker", "podman", "apptainer", "charliecloud"] {
        let line = format!("env --{runtime}");
        let outside = env(&pod64(), &format!("env 20 --{runtime}"), file, &[]);
        let pages = [env(&pod64(), &line, file, &in_step), env(&pod64(), &line, file, &api), outside];
        texts += &format!("{runtime}\n{}", pages.concat());
    }
    texts += &env(&pod64(), "env --docker", file, &[("IPUOF_CONFIG_PATH", "/a b/slurm_20.conf")]);
    texts += &env(&pod64(), "--json env --docker", file, &api);
    insta::assert_snapshot!(texts);
}
