//! `cargo xtask layout` on a real source tree: Slurm 22.05.8 as Debian 12 builds it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

/// The address of Debian's sources. Tests may use the network, and /etc/apt stays as it is.
const DEBIAN: &str = "\
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
";

#[test]
fn cli_layout_agrees_with_what_is_built_in_for_debians_slurm() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let source = debian_source(folder.path())?;
    let out = folder.path().join("slurm-layout.conf");

    let said = layout(&source, &out).map_err(anyhow::Error::msg)?;
    ensure!(said.contains("Slurm 22.05.8 measured: "), "{said}");
    ensure!(said.contains("22.05.8 by itself, with the same values"), "{said}");
    let table = fs::read_to_string(&out)?;
    ensure!(table.contains("\njob_record.job_id=360 u32\n"), "{table}");
    let written = table.lines().filter(|line| line.contains('=')).count();
    ensure!(said.contains(&format!(" {} values\n", written - 2)), "{written} lines, but: {said}");

    a_moved_member_is_reported(&source, &out)?;
    a_renamed_member_is_named(&source, &out)?;
    a_missing_constant_is_named_too(&source, &out)?;
    ensure!(fs::read_to_string(&out)?.contains("job_record.job_id=368 u32"), "a refused tree left a file");
    Ok(())
}

/// The next member of the struct moves as well, and the file has its new place.
fn a_moved_member_is_reported(source: &Path, out: &Path) -> Result<()> {
    edit_slurmctld_header(source, "uint32_t job_id;", "uint64_t added; uint32_t job_id;")?;
    let said = layout(source, out).map_err(anyhow::Error::msg)?;
    ensure!(said.contains(" values differ (is this Slurm patched?)"), "{said}");
    ensure!(said.contains("job_record.job_id: built in 360 u32, here 368 u32"), "{said}");
    ensure!(said.contains("job_record: built in 1048, here 1056"), "{said}");
    ensure!(!said.contains("job_record.details"), "it is in front of the added one: {said}");
    Ok(())
}

fn a_renamed_member_is_named(source: &Path, out: &Path) -> Result<()> {
    edit_slurmctld_header(source, "char *user_name;", "char *users_name;")?;
    refused(source, out, "job_record_t.user_name")
}

/// The compiler reports an error, of which the user sees one line of ours.
fn a_missing_constant_is_named_too(source: &Path, out: &Path) -> Result<()> {
    let header = source.join("slurm/slurm.h");
    fs::write(&header, fs::read_to_string(&header)?.replace("JOB_SUSPENDED,", "JOB_ASLEEP,"))?;
    refused(source, out, "job_record_t.user_name, JOB_SUSPENDED")
}

fn refused(source: &Path, out: &Path, missing: &str) -> Result<()> {
    match layout(source, out) {
        Ok(said) => bail!("accepted without {missing}: {said}"),
        Err(said) => ensure!(
            said == format!("error: this Slurm has no {missing}: slurm-vipu has to be adapted\n"),
            "{said}"
        ),
    }
    Ok(())
}

/// The file in which 22.05 declares `job_record_t`.
fn edit_slurmctld_header(source: &Path, from: &str, to: &str) -> Result<()> {
    let header = source.join("src/slurmctld/slurmctld.h");
    let text = fs::read_to_string(&header)?;
    let (before, record) = text.split_once("struct job_record {").context("no job_record")?;
    ensure!(record.contains(from), "no '{from}' in {}", header.display());
    Ok(fs::write(&header, format!("{before}struct job_record {{{}", record.replacen(from, to, 1)))?)
}

/// The output of the program: stdout if it succeeded, otherwise stderr.
fn layout(source: &Path, out: &Path) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = command.args(["layout", "--source"]).arg(source).arg("--out").arg(out).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// Fetches and unpacks the source package, Debian's patches applied.
fn debian_source(folder: &Path) -> Result<PathBuf> {
    for name in ["parts", "lists", "cache", "source"] {
        fs::create_dir(folder.join(name))?;
    }
    fs::write(folder.join("parts/debian.sources"), DEBIAN)?;
    let fetched = apt_get(folder, &["update"])
        .and_then(|()| apt_get(folder, &["source", "--download-only", "slurm-wlm"]));
    fetched.context("Slurm's source package cannot be fetched from deb.debian.org, which this test needs")?;

    let description = fs::read_dir(folder.join("source"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|end| end == "dsc"))
        .context("Slurm's source package has no .dsc file")?;
    let tree = folder.join("source/tree");
    let mut unpack = Command::new("dpkg-source");
    succeed(unpack.arg("--no-check").arg("-x").arg(description).arg(&tree))
        .context("Slurm's source package cannot be unpacked; is dpkg-dev installed?")?;
    Ok(tree)
}

/// apt-get with lists and sources of its own.
fn apt_get(folder: &Path, arguments: &[&str]) -> Result<()> {
    let own = [
        ("Dir::Etc::sourcelist", Path::new("/dev/null")),
        ("Dir::Etc::sourceparts", &folder.join("parts")),
        ("Dir::State::lists", &folder.join("lists")),
        ("Dir::Cache", &folder.join("cache")),
    ];
    let mut command = Command::new("apt-get");
    command.current_dir(folder.join("source")).arg("--quiet");
    for (name, value) in own {
        command.arg("-o").arg(format!("{name}={}", value.display()));
    }
    // As root, apt gives downloads to a user who may not enter the folder.
    command.args(["-o", "APT::Sandbox::User=root", "-o", "APT::Update::Error-Mode=any"]);
    succeed(command.args(arguments))
}

fn succeed(command: &mut Command) -> Result<()> {
    let output =
        command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&said).trim());
    Ok(())
}
