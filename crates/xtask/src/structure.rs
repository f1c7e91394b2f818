//! The two rules on how the product hangs together: crates depend downwards, and few modules import each other in circles.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::{import_circles, run};

/// The crates of the product, lowest first. A crate depends only on crates of the lines above its own.
const LAYERS: &[&[&str]] = &[
    &["failpoints", "slurm-release", "vipu-types"],
    &["conf", "ipuof", "ledger", "slurm-host", "vipu-client", "vipu-conf"],
    &["driver"],
    &["gres-vipu", "ipuof-fetch", "job-submit-vipu", "select-vipu", "slurmctld-vipu", "spank-ipuof"],
];

/// What one crate must not reach, even through others, and why.
const FORBIDDEN: &[(&str, &str, &str)] = &[("spank-ipuof", "slurm-host", "its licence is another one")];

/// Crates and packages that are not part of the product. They may depend on each other and on all of the product.
const TOOLS: &[&str] = &["e2e", "fuzz", "layout", "mock-vipu", "simulate", "stopwatch", "testbed", "xtask"];

/// As many modules may import each other in a circle.
const LARGEST_CIRCLE: usize = 3;

/// Crates that have a larger circle still, with its size. A size that has changed fails.
const NOT_YET: &[(&str, usize)] = &[("ledger", 12), ("slurmctld-vipu", 18)];

/// What each crate depends on.
type Dependencies = BTreeMap<String, BTreeSet<String>>;

/// Checks both rules.
pub fn check() -> Result<()> {
    let crates = dependencies()?;
    let mut faults = order_faults(&crates);
    for name in crates.keys().filter(|name| !TOOLS.contains(&name.as_str())) {
        let modules = import_circles::read(&run::workspace().join("crates").join(name).join("src"))?;
        let known = NOT_YET.iter().find(|(listed, _)| listed == name).map(|(_, size)| *size);
        faults.extend(circle_fault(name, &import_circles::find(&modules), known));
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// All packages of the workspace, with what each depends on outside its tests.
fn dependencies() -> Result<Dependencies> {
    let mut command = run::cargo_command(&["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let output = command.output().context("cannot run cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let needed = |package: &Value| {
        let all = list(&package["dependencies"]);
        all.iter().filter(|dependency| dependency["kind"] != "dev").map(name).collect()
    };
    Ok(list(&metadata["packages"]).iter().map(|package| (name(package), needed(package))).collect())
}

fn order_faults(crates: &Dependencies) -> Vec<String> {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let mut faults = Vec::new();
    for (name, needed) in crates.iter().filter(|(name, _)| !TOOLS.contains(&name.as_str())) {
        if layer(name).is_none() {
            faults.push(format!("{name} is neither in LAYERS nor in TOOLS of {}", file!()));
        }
        let own = needed.iter().filter(|needed| crates.contains_key(*needed));
        let wrong = own.filter(|needed| layer(needed) >= layer(name) || layer(needed).is_none());
        faults.extend(wrong.map(|needed| format!("{name} depends on {needed}, which is not below it")));
    }
    for (name, forbidden, why) in FORBIDDEN {
        if reaches(crates, name, forbidden) {
            faults.push(format!("{name} must not depend on {forbidden}: {why}"));
        }
    }
    faults
}

fn reaches(crates: &Dependencies, from: &str, to: &str) -> bool {
    let needed = crates.get(from).into_iter().flatten();
    needed.into_iter().any(|needed| needed == to || reaches(crates, needed, to))
}

fn circle_fault(name: &str, circles: &[Vec<String>], known: Option<usize>) -> Option<String> {
    let (largest, modules) =
        circles.first().map_or((0, String::new()), |circle| (circle.len(), circle.join(", ")));
    match known {
        Some(size) if size == largest => None,
        Some(size) => {
            Some(format!("{name}: NOT_YET says {size}, its largest circle has {largest}: {modules}"))
        }
        None if largest <= LARGEST_CIRCLE => None,
        None => Some(format!("{name}: {largest} modules import each other in a circle: {modules}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(crates: &[(&str, &[&str])]) -> Vec<String> {
        let set = |needed: &[&str]| needed.iter().map(|name| (*name).to_owned()).collect();
        order_faults(&crates.iter().map(|(name, needed)| ((*name).to_owned(), set(needed))).collect())
    }

    #[test]
    fn crates_depend_downwards() {
        let low: (&str, &[&str]) = ("vipu-types", &["serde"]);
        assert!(faults(&[low, ("ledger", &["vipu-types"]), ("driver", &["ledger"])]).is_empty());
        assert_eq!(faults(&[low, ("ledger", &["driver"]), ("driver", &[])]).len(), 1, "upwards");
        assert_eq!(faults(&[low, ("ledger", &["conf"]), ("conf", &[])]).len(), 1, "within a layer");
        assert_eq!(faults(&[low, ("ledger", &["testbed"]), ("testbed", &[])]).len(), 1, "a tool");
        assert_eq!(faults(&[low, ("newcomer", &[])]).len(), 1, "an unknown crate");
        assert!(faults(&[low, ("simulate", &["ledger"]), ("ledger", &[])]).is_empty(), "a tool may");
    }

    #[test]
    fn the_licence_holds_through_other_crates() {
        let crates: [(&str, &[&str]); 3] =
            [("spank-ipuof", &["ipuof"]), ("ipuof", &["slurm-host"]), ("slurm-host", &[])];
        assert!(faults(&crates).iter().any(|fault| fault.contains("licence")));
    }

    #[test]
    fn a_circle_has_three_modules_at_most() {
        let circle = |size: usize| vec![vec!["module".to_owned(); size]];
        assert_eq!(circle_fault("driver", &circle(3), None), None);
        assert!(circle_fault("driver", &circle(4), None).is_some());
    }

    #[test]
    fn a_known_circle_may_not_change_unnoticed() {
        let circle = |size: usize| vec![vec!["module".to_owned(); size]];
        assert_eq!(circle_fault("driver", &circle(9), Some(9)), None);
        assert!(circle_fault("driver", &circle(10), Some(9)).is_some(), "worse");
        assert!(circle_fault("driver", &circle(8), Some(9)).is_some(), "better: the list has to say so");
    }

    #[test]
    fn the_tree_keeps_both_rules() {
        check().unwrap();
    }
}
