//! Plugin files for tests: ELF objects with one symbol.

use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope};

/// An ELF object with these bytes under this name.
pub(crate) fn with_symbol(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let section = object.section_id(StandardSection::ReadOnlyData);
    let symbol = object.add_symbol(Symbol {
        name: name.into(),
        value: 0,
        size: bytes.len() as u64,
        kind: SymbolKind::Data,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    });
    // Something stands before the symbol, as in a real file.
    object.append_section_data(section, b"before", 8);
    object.add_symbol_data(symbol, section, bytes, 8);
    object.write().unwrap()
}
