//! Plugin files for tests: ELF objects with one symbol or note.

use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use vipu_types::version_note::SECTION;

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

/// An ELF object with this text in the note of slurm-vipu.
pub(crate) fn with_version_note(text: &str) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let section = object.add_section(Vec::new(), SECTION.into(), SectionKind::Note);
    let lengths = [11, text.len() as u32 + 1, 1].map(u32::to_le_bytes).concat();
    let note = [&lengths, b"slurm-vipu\0\0".as_slice(), text.as_bytes(), b"\0"].concat();
    object.append_section_data(section, &note, 4);
    object.write().unwrap()
}
