//! Tests of the plugins in a fake Slurm of every known release, and of some unknown ones.
//!
//! This is the fake Slurm at the level of the shared objects: for symbols, signatures, places of members and the loading of
//! plugins, which differ between releases.
//!
//! Each release is a process of its own: a daemon with the functions, variables and records of this release
//! (`slurm/*.c`, declared as in Slurm's headers; records laid out by `layouts.json`), stock selectors with
//! its exact version and interface, and Slurm's rules for loading plugins. All load identical plugin files.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "all of this is a test")]

mod cluster;
mod fake_slurms;
mod host;
mod installation;
mod object;
mod record;
mod releases;
mod scenarios;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result, bail, ensure};
use slurm_release::Version;
use slurm_release::table_file::{self, Measured};
use testbed::programs;

use crate::fake_slurms::{FakeSlurms, compile_selector, in_parallel, run};
use crate::installation::{Installation, Scenario};
use crate::releases::Release;

/// The test that runs a scenario instead, if [`Installation::of_this_process`] returns one.
const ENTRY: &str = "matrix_fake_every_release";

#[test]
fn matrix_fake_every_release() -> Result<()> {
    if let Some((installation, release, scenario)) = Installation::of_this_process() {
        scenarios::run(&installation, &release, scenario);
        return Ok(());
    }
    let releases = Release::all();
    ensure!(releases.len() == 72, "{} releases", releases.len());
    let sonames: BTreeSet<_> = releases.iter().map(|release| (release.series, release.soname)).collect();
    ensure!(sonames.iter().map(|(_, soname)| *soname).eq(38..=45), "libslurm has other numbers: {sonames:?}");
    on_each(&releases, |installation, release| run(installation, release, Scenario::Whole).map(drop))
}

/// Does `work` with an installation of each release.
fn on_each(releases: &[Release], work: impl Fn(&Installation, &Release) -> Result<()> + Sync) -> Result<()> {
    let slurms = FakeSlurms::new(releases)?;
    in_parallel(releases, |release| work(&slurms.install(release)?, release))
}

/// The selector works under a name that contains `cons_tres`, because some places in Slurm look for this word
/// in SelectType.
#[test]
fn matrix_fake_alias_name() -> Result<()> {
    on_each(&Release::last_of_each_series(), |installation, release| {
        installation.use_alias()?;
        run(installation, release, Scenario::Whole).map(drop)
    })
}

/// `Layer=linear` in vipu.conf is used, except that `other_cons_tres` in slurm.conf precedes it up to 23.11.
#[test]
fn matrix_fake_layer() -> Result<()> {
    let releases = Release::last_of_each_series();
    let slurms = FakeSlurms::new(&releases)?;
    in_parallel(&releases, |release| {
        for (scenario, is_word) in
            [(Scenario::Load, false), (Scenario::LoadOtherConsTres, release.series <= 2311)]
        {
            let installation = slurms.install(release)?;
            fs::write(installation.conf().join("vipu.conf"), "Layer=linear\n")?;
            let said = run(&installation, release, scenario)?;
            let (layer, id) = if is_word { ("cons_tres", 109) } else { ("linear", 102) };
            let id = if release.series <= 2411 { 22096 } else { id };
            let expected =
                [format!("select_vipu.so: loaded with id {id}"), format!("select_vipu.so: {layer}: init")];
            ensure!(of(&said, "select_vipu.so") == expected, "Slurm {}: {said}", release.name);
        }
        Ok(())
    })
}

/// The selector chooses its layer without complaints in slurmstepd, which loads it up to 24.11.
#[test]
fn matrix_fake_slurmstepd() -> Result<()> {
    let mut releases = Release::last_of_each_series();
    releases.retain(|release| release.series <= 2411);
    on_each(&releases, |installation, release| {
        fs::write(installation.conf().join("vipu.conf"), "Layer=linear\n")?;
        let said = run(installation, release, Scenario::LoadInStepd)?;
        let expected = ["select_vipu.so: loaded with id 22096", "select_vipu.so: linear: init"];
        ensure!(of(&said, "select_vipu.so") == expected, "Slurm {}: {said}", release.name);
        Ok(())
    })
}

/// Returns the lines of a process about a plugin.
fn of<'a>(said: &'a str, plugin: &str) -> Vec<&'a str> {
    said.lines().filter(|line| line.starts_with(plugin)).collect()
}

/// Writes the table file for a release.
fn write_table(installation: &Installation, release: &Release, measured: &Measured) -> Result<()> {
    let (version, soname): (_, u32) = (Version(release.version), release.soname.try_into()?);
    Ok(fs::write(installation.conf().join(table_file::NAME), table_file::render(version, soname, measured))?)
}

#[test]
fn matrix_fake_unknown_release() -> Result<()> {
    let releases = ["26.05.4", "27.11.0"].map(Release::named);
    let slurms = FakeSlurms::new(&releases)?;
    for release in &releases {
        let said = run(&slurms.install(release)?, release, Scenario::Load)?;
        for plugin in ["select_vipu.so", "job_submit_vipu.so", "gres_vipu.so"] {
            let [refused, why] = of(&said, plugin)[..] else { bail!("not one line: {said}") };
            ensure!(refused.ends_with("refused for its version 0x0"), "{said}");
            for part in
                ["log 2: ", &release.name, "is not known", "22.05.0-11, ", "there is no slurm-layout.conf"]
            {
                ensure!(why.contains(part), "'{part}' is not in: {why}");
            }
        }
        // For SPANK plugins, Slurm compares only the series.
        let (spank, why) = match release.series {
            2605 => ("spank_ipuof.so: loaded", 0),
            _ => ("spank_ipuof.so: refused for its version 0x0", 1),
        };
        ensure!(of(&said, "spank_ipuof.so") == [spank], "{said}");
        let lines = of(&said, "spank_ipuof: libslurm.so.47 is of no release known to this build");
        ensure!(lines.len() == why, "{said}");

        let installation = slurms.install(release)?;
        write_table(&installation, release, &release.measured())?;
        run(&installation, release, Scenario::Whole)?;
    }
    Ok(())
}

/// A table with one wrong place, at which the record has only poison, is noticed.
#[test]
fn matrix_fake_wrong_table() -> Result<()> {
    let release = Release::named("26.05.4");
    let slurms = FakeSlurms::new([&release])?;
    let texts = [
        ("job_record", "tres_per_node"),
        ("job_record", "tres_per_task"),
        ("job_record", "licenses"),
        ("node_record", "name"),
        ("node_record", "gres"),
        ("config_record", "gres"),
        ("part_record", "name"),
        ("job_desc_msg", "tres_per_node"),
        ("job_desc_msg", "tres_per_socket"),
        ("job_desc_msg", "partition"),
        ("job_desc_msg", "qos"),
        ("job_desc_msg", "licenses"),
        ("qos_rec", "name"),
        ("job_record", "spank_job_env_size"),
        ("job_desc_msg", "spank_job_env_size"),
    ];
    in_parallel(texts, |(kind, member)| {
        let installation = slurms.install(&release)?;
        let mut measured = release.measured();
        let place = format!("{kind}.{member}");
        let c_type = measured[&place].split_once(' ').context("a place without a kind")?.1.to_owned();
        measured.insert(place, format!("{} {c_type}", release.size(kind) - 8));
        write_table(&installation, &release, &measured)?;
        run(&installation, &release, Scenario::WrongTable)
            .map(drop)
            .with_context(|| format!("{kind}.{member}"))
    })
}

/// A table that is wrong by eight bytes from one member of a job's record on is noticed. The records are as
/// empty as Slurm's.
#[test]
fn matrix_fake_shifted_table() -> Result<()> {
    on_each(&Release::last_of_each_series(), |installation, release| {
        run(installation, release, Scenario::ShiftedTable).map(drop)
    })
}

#[test]
fn matrix_fake_reservations() -> Result<()> {
    on_each(&Release::all(), |installation, release| {
        run(installation, release, Scenario::Reservations).map(drop)
    })
}

/// A table file of an older build lacks the members of reservations. All else works.
#[test]
fn matrix_fake_reservations_unknown() -> Result<()> {
    on_each(&[Release::named("26.05.4")], |installation, release| {
        let mut measured = release.measured();
        measured.retain(|key, _| key.split('.').next() != Some("slurmctld_resv"));
        write_table(installation, release, &measured)?;
        run(installation, release, Scenario::UnknownReservations).map(drop)
    })
}

/// A panic during adoption, which the test build of the plugin causes, lets no IPU job start.
#[test]
fn matrix_fake_adoption_panics() -> Result<()> {
    on_each(&Release::last_of_each_series(), |installation, release| {
        let installed = installation.plugins().join(programs::WITH_FAILPOINTS);
        fs::remove_file(&installed)?;
        fs::copy(programs::test_plugin()?, installed)?;
        fs::create_dir(installation.failpoints())?;
        run(installation, release, Scenario::AdoptionPanics).map(drop)
    })
}

#[test]
fn matrix_fake_adoption_without_threads() -> Result<()> {
    on_each(&Release::last_of_each_series(), |installation, release| {
        run(installation, release, Scenario::AdoptionWithoutThreads).map(drop)
    })
}

#[test]
fn matrix_fake_missing_selector() -> Result<()> {
    on_each(&[Release::named("24.11.5")], |installation, release| {
        fs::write(installation.conf().join("vipu.conf"), "Layer=linear\n")?;
        let selector = installation.plugins().join("select_linear.so");
        fs::remove_file(&selector)?;
        let said = run(installation, release, Scenario::Load)?;
        let [refused, why] = of(&said, "select_vipu.so")[..] else { bail!("not one line: {said}") };
        ensure!(refused.ends_with("its init returned -1"), "{said}");
        for part in [&selector.display().to_string(), "install Slurm's basic plugins", "Layer in vipu.conf"] {
            ensure!(why.contains(part), "'{part}' is not in: {why}");
        }
        Ok(())
    })
}

/// Our selector reports a copy of itself that has replaced Slurm's file.
#[test]
fn matrix_fake_own_selector_under_the_stock_name() -> Result<()> {
    on_each(&[Release::named("24.11.5")], |installation, release| {
        let [own, stock] =
            ["select_vipu.so", "select_cons_tres.so"].map(|name| installation.plugins().join(name));
        fs::remove_file(&stock)?;
        fs::copy(own, stock)?;
        let said = run(installation, release, Scenario::Load)?;
        let told = of(&said, "select_vipu.so").into_iter().any(|line| {
            line.contains("select_cons_tres.so is select_vipu.so of slurm-vipu") && line.contains("anew")
        });
        ensure!(told, "{said}");
        Ok(())
    })
}

#[test]
fn matrix_fake_selector_without_a_function() -> Result<()> {
    let lacking = [("22.05.8", "select_p_update_node_config"), ("26.05.5", "select_p_job_mem_reduce")];
    let releases = lacking.map(|(release, _)| Release::named(release));
    let slurms = FakeSlurms::new(&releases)?;
    for (release, (_, function)) in releases.iter().zip(lacking) {
        let installation = slurms.install(release)?;
        let renamed = format!("-D{function}=other");
        compile_selector(&installation.plugins(), release.series, "cons_tres", &[&renamed])?;
        let said = run(&installation, release, Scenario::Load)?;
        let [refused, .., why] = of(&said, "select_vipu.so")[..] else { bail!("not told: {said}") };
        ensure!(refused.ends_with("its init returned -1") && why.contains(function), "{said}");
    }
    Ok(())
}
