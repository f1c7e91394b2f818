//! What bindgen wrote, read back: sizes, offsets and kinds of members, constants.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use syn::{Expr, Item, ItemConst, Lit, Stmt, Type};

/// bindgen's output, by names of C.
#[derive(Debug, Default)]
pub struct Bindings {
    /// The types of the structs' members.
    members: BTreeMap<String, BTreeMap<String, Type>>,
    /// typedefs and enums.
    aliases: BTreeMap<String, Type>,
    /// bindgen's layout assertions, as `Size of job_record` or `Offset of field: job_record::job_id`.
    asserted: BTreeMap<String, u64>,
    constants: BTreeMap<String, u64>,
}

/// A struct that the headers declare.
#[derive(Clone, Copy, Debug)]
pub struct Struct<'a> {
    bindings: &'a Bindings,
    name: &'a str,
    members: &'a BTreeMap<String, Type>,
}

/// What a struct is called where it has no typedef.
pub fn tag(c_type: &str) -> &str {
    c_type.strip_suffix("_t").unwrap_or(c_type)
}

impl Bindings {
    /// Reads bindgen's output.
    pub fn parse(code: &str) -> Result<Self> {
        let file = syn::parse_file(code).context("bindgen wrote something unexpected")?;
        let mut found = Self::default();
        for item in file.items {
            match item {
                Item::Struct(item) => {
                    let named = |field: syn::Field| Some((field.ident?.to_string(), field.ty));
                    let members = item.fields.into_iter().filter_map(named).collect();
                    found.members.insert(item.ident.to_string(), members);
                }
                Item::Type(item) => drop(found.aliases.insert(item.ident.to_string(), *item.ty)),
                Item::Const(item) => found.add_constant(&item),
                _ => {}
            }
        }
        Ok(found)
    }

    fn add_constant(&mut self, item: &ItemConst) {
        if let Expr::Block(block) = &*item.expr {
            self.asserted.extend(block.block.stmts.iter().filter_map(assertion));
        } else if let Some(value) = integer(&item.expr) {
            self.constants.insert(item.ident.to_string(), value);
        }
    }

    /// The value of a constant.
    pub fn constant(&self, name: &str) -> Option<u64> {
        self.constants.get(name).copied()
    }

    /// The struct with this typedef or, where there is none, this tag.
    pub fn structure<'a>(&'a self, c_type: &'a str) -> Option<Struct<'a>> {
        [c_type, tag(c_type)].into_iter().find_map(|name| {
            let aliased = self.aliases.get(name).map(|alias| self.resolve(alias)).and_then(name_of);
            let declared = aliased.unwrap_or_else(|| name.to_owned());
            let (name, members) = self.members.get_key_value(&declared)?;
            Some(Struct { bindings: self, name, members })
        })
    }

    /// Follows typedefs.
    fn resolve<'a>(&'a self, mut found: &'a Type) -> &'a Type {
        while let Some(next) = name_of(found).and_then(|name| self.aliases.get(&name)) {
            found = next;
        }
        found
    }

    /// The kind of a type as slurm-release names it; what it has no name for keeps its own.
    fn kind(&self, found: &Type) -> String {
        let found = self.resolve(found);
        if let Type::Ptr(pointer) = found {
            return match self.kind(&pointer.elem).as_str() {
                "c_char" => "str",
                "str" => "strs",
                _ => "ptr",
            }
            .to_owned();
        }
        let name = last_segment(found).unwrap_or_else(|| "other".to_owned());
        let kind = match name.as_str() {
            "c_uchar" => "u8",
            "c_ushort" => "u16",
            "c_uint" => "u32",
            "c_int" => "i32",
            "c_ulong" | "c_ulonglong" | "usize" => "u64",
            "c_long" | "c_longlong" => "i64",
            // A pointer to a function.
            "Option" => "ptr",
            other => other,
        };
        kind.to_owned()
    }
}

impl Struct<'_> {
    /// Its size in bytes.
    pub fn size(&self) -> Option<u64> {
        self.bindings.asserted.get(&format!("Size of {}", self.name)).copied()
    }

    /// A member's offset in bytes, and its kind.
    pub fn member(&self, member: &str) -> Option<(u64, String)> {
        let kind = self.bindings.kind(self.members.get(member)?);
        let place = format!("Offset of field: {}::{member}", self.name);
        Some((*self.bindings.asserted.get(&place)?, kind))
    }
}

/// `["Size of x"][size_of::<x>() - 8usize];`: an index out of bounds unless it holds.
fn assertion(statement: &Stmt) -> Option<(String, u64)> {
    let Stmt::Expr(Expr::Index(index), _) = statement else { return None };
    let (Expr::Array(label), Expr::Binary(difference)) = (&*index.expr, &*index.index) else { return None };
    let Some(Expr::Lit(label)) = label.elems.first() else { return None };
    let Lit::Str(label) = &label.lit else { return None };
    Some((label.value(), integer(&difference.right)?))
}

fn integer(value: &Expr) -> Option<u64> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The name of a type that is declared in the bindings themselves.
fn name_of(found: &Type) -> Option<String> {
    match found {
        Type::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

fn last_segment(found: &Type) -> Option<String> {
    match found {
        Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = r#"
        pub type time_t = __time_t;
        pub type __time_t = ::std::os::raw::c_long;
        pub type List = *mut xlist;
        pub type job_states = ::std::os::raw::c_uint;
        pub struct job_record { pub when: time_t, pub name: *mut ::std::os::raw::c_char,
            pub env: *mut *mut ::std::os::raw::c_char, pub list: List, pub state: job_states, pub flag: bool,
            pub on_end: ::std::option::Option<unsafe extern "C" fn()>, pub inner: limits, pub id: u32 }
        pub type job_record_t = job_record;
        pub struct limits { pub some: [u16; 4usize] }
        #[allow(clippy::unnecessary_operation)]
        const _: () = {
            ["Size of job_record"][::std::mem::size_of::<job_record>() - 72usize];
            ["Alignment of job_record"][::std::mem::align_of::<job_record>() - 8usize];
            ["Offset of field: job_record::when"][::std::mem::offset_of!(job_record, when) - 0usize];
            ["Offset of field: job_record::name"][::std::mem::offset_of!(job_record, name) - 8usize];
            ["Offset of field: job_record::env"][::std::mem::offset_of!(job_record, env) - 16usize];
            ["Offset of field: job_record::list"][::std::mem::offset_of!(job_record, list) - 24usize];
            ["Offset of field: job_record::state"][::std::mem::offset_of!(job_record, state) - 32usize];
            ["Offset of field: job_record::flag"][::std::mem::offset_of!(job_record, flag) - 36usize];
            ["Offset of field: job_record::on_end"][::std::mem::offset_of!(job_record, on_end) - 40usize];
            ["Offset of field: job_record::inner"][::std::mem::offset_of!(job_record, inner) - 48usize];
        };
        pub const slurm_vipu_NO_VAL: ::std::os::raw::c_ulonglong = 4294967294;
    "#;

    #[test]
    fn members_have_their_place_and_kind() {
        let bindings = Bindings::parse(CODE).unwrap();
        let job = bindings.structure("job_record_t").unwrap();
        assert_eq!(job.size(), Some(72));
        let kinds = ["when", "name", "env", "list", "state", "flag", "on_end", "inner"];
        let kinds: Vec<_> = kinds.iter().map(|name| job.member(name).unwrap().1).collect();
        assert_eq!(kinds, ["i64", "str", "strs", "ptr", "u32", "bool", "ptr", "limits"]);
        assert_eq!(job.member("env").unwrap().0, 16);
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let bindings = Bindings::parse(CODE).unwrap();
        assert!(bindings.structure("node_record_t").is_none());
        let job = bindings.structure("job_record_t").unwrap();
        assert!(job.member("magic").is_none());
        assert!(job.member("id").is_none(), "declared, but its place is not known");
        assert_eq!(bindings.constant("slurm_vipu_NO_LOCK"), None);
    }

    #[test]
    fn a_struct_without_typedef_is_found_by_its_tag() {
        let code = CODE.replace("pub type job_record_t = job_record;", "");
        assert_eq!(Bindings::parse(&code).unwrap().structure("job_record_t").unwrap().size(), Some(72));
    }

    #[test]
    fn constants_have_64_bits() {
        assert_eq!(Bindings::parse(CODE).unwrap().constant("slurm_vipu_NO_VAL"), Some(0xffff_fffe));
    }
}
