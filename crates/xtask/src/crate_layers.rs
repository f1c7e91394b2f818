//! The structure of the product: crates depend downwards and as their licences allow, and few modules import
//! each other in circles.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::{import_circles, run};

/// The crates of the product, lowest first. A crate depends only on crates of the lines above its own.
const LAYERS: &[&[&str]] = &[
    &["failpoints", "slurm-conf", "slurm-release", "vipu-admin", "vipu-status", "vipu-types"],
    &["ipuof", "ledger", "slurm-host", "vipu-client", "vipu-conf"],
    &["driver", "vipu-forecast"],
    &["frontend", "vipu-doctor", "vipu-exporter"],
    &[
        "gres-vipu",
        "ipu-operator",
        "ipuof-fetch",
        "ipuof-oci",
        "job-submit-vipu",
        "select-vipu",
        "slurmctld-vipu",
        "spank-ipuof",
        "svipu",
        "vipu-setup",
    ],
];

/// Crates and packages that are not part of the product. They may depend on each other and on all of the
/// product.
const TOOLS: &[&str] =
    &["e2e", "fuzz", "kubernetes-testbed", "mock-vipu", "scoreboard", "simulate", "testbed", "xtask"];

/// The largest number of modules that may import each other in a circle.
const LARGEST_CIRCLE: usize = 3;

struct Package {
    licence: String,
    /// The packages that it depends on outside its tests.
    needed: BTreeSet<String>,
}

type Packages = BTreeMap<String, Package>;

pub fn check() -> Result<()> {
    let crates = packages()?;
    let mut faults = order_faults(&crates);
    faults.extend(licence_faults(&crates));
    for name in crates.keys().filter(|name| !TOOLS.contains(&name.as_str())) {
        let modules = import_circles::read(&run::workspace().join("crates").join(name).join("src"))?;
        faults.extend(circle_fault(name, &import_circles::find(&modules)));
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

fn packages() -> Result<Packages> {
    let mut command = run::cargo_command(&["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let output = command.output().context("cannot run cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let package = |package: &Value| {
        let needed = list(&package["dependencies"]);
        let needed = needed.iter().filter(|dependency| dependency["kind"] != "dev");
        let needed = needed.map(|dependency| text(&dependency["name"])).collect();
        (text(&package["name"]), Package { licence: text(&package["license"]), needed })
    };
    Ok(list(&metadata["packages"]).iter().map(package).collect())
}

fn order_faults(crates: &Packages) -> Vec<String> {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let mut faults = Vec::new();
    for (name, package) in crates.iter().filter(|(name, _)| !TOOLS.contains(&name.as_str())) {
        if layer(name).is_none() {
            faults.push(format!("{name} is neither in LAYERS nor in TOOLS of {}", file!()));
        }
        let own = package.needed.iter().filter(|needed| crates.contains_key(*needed));
        let wrong = own.filter(|needed| layer(needed) >= layer(name) || layer(needed).is_none());
        faults.extend(wrong.map(|needed| format!("{name} depends on {needed}, which is not below it")));
    }
    faults
}

/// Each crate that depends on a crate under the GPL without being under the GPL.
fn licence_faults(crates: &Packages) -> Vec<String> {
    let is_gpl = |name: &str| crates.get(name).is_some_and(|package| package.licence.starts_with("GPL"));
    let others = crates.iter().filter(|(name, _)| !is_gpl(name));
    let pairs = others.flat_map(|(name, package)| package.needed.iter().map(move |needed| (name, needed)));
    let wrong = pairs.filter(|(_, needed)| is_gpl(needed));
    wrong
        .map(|(name, needed)| format!("{name} must not depend on {needed}, which is under the GPL"))
        .collect()
}

fn circle_fault(name: &str, circles: &[Vec<String>]) -> Option<String> {
    let circle = circles.iter().find(|circle| circle.len() > LARGEST_CIRCLE)?;
    Some(format!("{name}: {} modules import each other in a circle: {}", circle.len(), circle.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages_of(crates: &[(&str, &[&str])]) -> Packages {
        let package = |(name, needed): &(&str, &[&str])| {
            let licence = if *name == "slurm-host" { "GPL-2.0-or-later" } else { "MIT OR Apache-2.0" };
            let needed = needed.iter().map(|name| (*name).to_owned()).collect();
            ((*name).to_owned(), Package { licence: licence.to_owned(), needed })
        };
        crates.iter().map(package).collect()
    }

    fn faults(crates: &[(&str, &[&str])]) -> Vec<String> {
        order_faults(&packages_of(crates))
    }

    #[test]
    fn crates_depend_downwards() {
        let low: (&str, &[&str]) = ("vipu-types", &["serde"]);
        assert!(faults(&[low, ("ledger", &["vipu-types"]), ("driver", &["ledger"])]).is_empty());
        assert_eq!(faults(&[low, ("ledger", &["driver"]), ("driver", &[])]).len(), 1, "upwards");
        assert_eq!(faults(&[low, ("ledger", &["ipuof"]), ("ipuof", &[])]).len(), 1, "within a layer");
        assert_eq!(faults(&[low, ("ledger", &["testbed"]), ("testbed", &[])]).len(), 1, "a tool");
        assert_eq!(faults(&[low, ("newcomer", &[])]).len(), 1, "an unknown crate");
        assert!(faults(&[low, ("simulate", &["ledger"]), ("ledger", &[])]).is_empty(), "a tool may");
    }

    #[test]
    fn only_gpl_crates_depend_on_gpl_crates() {
        let crates =
            [("spank-ipuof", &["slurm-host"][..]), ("slurm-host", &["vipu-types"]), ("vipu-types", &[])];
        assert_eq!(licence_faults(&packages_of(&crates)).len(), 1);
        assert!(licence_faults(&packages_of(&crates[1..])).is_empty());
    }

    #[test]
    fn a_circle_has_three_modules_at_most() {
        let circle = |size: usize| vec![vec!["module".to_owned(); size]];
        assert_eq!(circle_fault("driver", &circle(3)), None);
        assert!(circle_fault("driver", &circle(4)).is_some());
    }

    #[test]
    fn the_tree_keeps_the_rules() {
        check().unwrap();
    }
}
