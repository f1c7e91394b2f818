//! Finds modules of a crate that import each other in a circle. A module is a file. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::rust_paths::{self, Paths};

/// A module by its path: `["job", "change"]` for `src/job/change.rs`, empty for `lib.rs`.
type Module = Vec<String>;

pub type Crate = BTreeMap<Module, Paths>;

pub fn read(src: &Path) -> Result<Crate> {
    let (mut modules, mut folders) = (Crate::new(), vec![src.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(module) = module(path.strip_prefix(src)?) {
                let paths = rust_paths::read(&fs::read_to_string(&path)?);
                modules.insert(module, paths.with_context(|| path.display().to_string())?);
            }
        }
    }
    Ok(modules)
}

/// The module in a file. `None` for a file of tests.
fn module(file: &Path) -> Option<Module> {
    let mut module: Module = file.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let last = module.pop()?;
    let stem = last.strip_suffix(".rs").filter(|stem| !stem.ends_with("_tests"))?;
    module.extend((!["lib", "main", "mod"].contains(&stem)).then(|| stem.to_owned()));
    Some(module)
}

/// The circles, largest first. Each has at least two modules.
pub fn find(modules: &Crate) -> Vec<Vec<String>> {
    let imports: BTreeMap<_, _> = modules.keys().map(|module| (module, imports(modules, module))).collect();
    let reached: BTreeMap<_, _> = modules.keys().map(|module| (module, reached(&imports, module))).collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for module in modules.keys().filter(|module| reached[module].contains(*module)) {
        let circle: Vec<_> =
            reached[module].iter().filter(|other| reached[*other].contains(module)).collect();
        if circle[0] == module && circle.len() > 1 {
            circles.push(circle.into_iter().map(name).collect());
        }
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

fn name(module: &Module) -> String {
    if module.is_empty() { "lib".to_owned() } else { module.join("::") }
}

fn reached(imports: &BTreeMap<&Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<Module> {
    let (mut reached, mut ahead) = (BTreeSet::new(), vec![from]);
    while let Some(next) = ahead.pop() {
        ahead.extend(imports[next].iter().filter(|module| reached.insert((*module).clone())));
    }
    reached
}

fn imports(modules: &Crate, module: &Module) -> BTreeSet<Module> {
    let paths = modules[module].used.iter();
    let found = paths.filter_map(|path| module_of(modules, &absolute(modules, module, path)?, 8));
    found.filter(|found| found != module).collect()
}

/// The path from the root of the crate. `None` for a path into another crate.
fn absolute(modules: &Crate, module: &Module, path: &[String]) -> Option<Vec<String>> {
    let mut base = module.clone();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => (base, rest) = (Module::new(), &rest[1..]),
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|word| word == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        child if modules.contains_key(&[module.as_slice(), &[child.to_owned()]].concat()) => {}
        _ => return None,
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// The module that has the item of a path. A re-export leads to the module that it names.
fn module_of(modules: &Crate, path: &[String], most_steps: u8) -> Option<Module> {
    let length = (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length]))?;
    let (module, rest) = (path[..length].to_vec(), &path[length..]);
    let (Some(item), Some(fewer)) = (rest.first(), most_steps.checked_sub(1)) else { return Some(module) };
    let re_exports = modules[&module].re_exported.iter().filter(|(exported, _)| exported == item);
    let target = re_exports.map(|(_, path)| path).next().and_then(|path| absolute(modules, &module, path));
    target.and_then(|path| module_of(modules, &path, fewer)).or(Some(module))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let read =
            |(path, text): &(&str, &str)| Some((module(Path::new(path))?, rust_paths::read(text).unwrap()));
        find(&files.iter().filter_map(read).collect())
    }

    #[test]
    fn a_circle_is_found_through_every_form_of_path() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::{b::{self, B}, d as x};"),
            ("b.rs", "fn f() { crate::c::g(); }"),
            ("c/mod.rs", "pub mod deep; use deep::*;"),
            ("c/deep.rs", "pub(super) fn f() {} fn g() { h!(super::super::a::f(), 1) }"),
            ("d.rs", "fn f() { let text = \"crate::a\"; } // crate::a"),
        ];
        assert_eq!(circles(&files), [["a", "b", "c", "c::deep"]]);
    }

    #[test]
    fn declarations_re_exports_and_tests_are_no_imports() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a.rs", "use crate::b; struct A; #[cfg(test)] mod tests { use super::*; use crate::C; }"),
            ("b.rs", "#[cfg(test)] use crate::a; #[cfg(test)] #[path = \"b_tests.rs\"] mod tests;"),
            ("b_tests.rs", "use crate::a;"),
        ];
        assert!(circles(&files).is_empty());
    }

    #[test]
    fn a_re_exported_name_leads_to_its_module() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A as Shown;"),
            ("a.rs", "use crate::b;"),
            ("b.rs", "use crate::Shown;"),
        ];
        assert_eq!(circles(&files), [["a", "b"]]);
    }
}
