//! Reads the paths that a Rust file names. Modules, functions and imports marked `#[cfg(test)]` are left out.

use anyhow::Result;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, File, Ident, ImplItemFn, ItemFn, ItemMod, ItemUse, Macro, Token, UseTree, Visibility,
};

/// Words joined by `::`.
pub type Words = Vec<String>;

#[derive(Default)]
pub struct Paths {
    pub used: Vec<Words>,
    /// Names that the file exports by `pub use` or `pub(crate) use`, with the path of each.
    pub re_exported: Vec<(String, Words)>,
}

/// Reads the paths of a file. Fails if the text is not Rust.
pub fn read(text: &str) -> Result<Paths> {
    let (file, mut paths) = (syn::parse_str::<File>(text)?, Paths::default());
    paths.visit_file(&file);
    // The file may use a name that it exports.
    let is_used = |name: &String| paths.used.iter().any(|path| path[0] == *name);
    let own = paths.re_exported.iter().filter(|(name, _)| is_used(name)).map(|(_, path)| path.clone());
    let own = own.collect::<Vec<_>>();
    paths.used.extend(own);
    // A single word may be a variable as well.
    paths.used.retain(|path| path.len() > 1);
    Ok(paths)
}

impl<'a> Visit<'a> for Paths {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        if !is_of_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        let mut names = Vec::new();
        if !is_of_tests(&item.attrs) {
            add_names(&item.tree, Words::new(), &mut names);
        }
        if matches!(item.vis, Visibility::Inherited) {
            self.used.extend(names.into_iter().map(|(_, path)| path));
        } else {
            self.re_exported.append(&mut names);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.used.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    /// Leaves out `pub(super)`.
    fn visit_visibility(&mut self, _: &'a Visibility) {}

    /// Looks into macros whose arguments are expressions, for example `format!`. Paths in other macros are
    /// not seen.
    fn visit_macro(&mut self, call: &'a Macro) {
        visit::visit_macro(self, call);
        let arguments = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        arguments.iter().flatten().for_each(|argument| self.visit_expr(argument));
    }
}

pub fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let argument = attribute.parse_args::<Ident>();
        attribute.path().is_ident("cfg") && argument.is_ok_and(|word| word == "test")
    })
}

/// Adds each name of a tree of `use` with its path. `base` is the path above the tree.
fn add_names(tree: &UseTree, mut base: Words, names: &mut Vec<(String, Words)>) {
    let mut add = |name: String, path| names.push((name, path));
    match tree {
        UseTree::Path(path) => {
            base.push(path.ident.to_string());
            add_names(&path.tree, base, names);
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| add_names(tree, base.clone(), names)),
        UseTree::Glob(_) => {
            base.push("*".to_owned());
            add("*".to_owned(), base);
        }
        // `job::{self}` names the path `job`.
        UseTree::Name(name) if name.ident == "self" => {
            add(base.last().cloned().unwrap_or_default(), base);
        }
        UseTree::Name(name) => {
            base.push(name.ident.to_string());
            add(name.ident.to_string(), base);
        }
        UseTree::Rename(rename) => {
            base.push(rename.ident.to_string());
            add(rename.rename.to_string(), base);
        }
    }
}
