//! The version of slurm-vipu in an object, as an ELF note. `readelf --notes` and `strings` show it, and `svipu doctor` reads it.

/// The section of the note.
pub const SECTION: &str = ".note.slurm-vipu";

/// A note: the lengths of both texts, the kind, the owner, and the text, which ends with NUL.
#[repr(C, align(4))]
pub struct VersionNote<const N: usize> {
    owner_length: u32,
    text_length: u32,
    kind: u32,
    /// It ends with NUL, and is filled up to four bytes.
    owner: [u8; 12],
    text: [u8; N],
}

impl<const N: usize> VersionNote<N> {
    /// A note with a text of exactly `N` bytes.
    #[must_use]
    pub const fn new(text: &str) -> Self {
        let mut bytes = [0; N];
        bytes.copy_from_slice(text.as_bytes());
        Self { owner_length: 11, text_length: N as u32, kind: 1, owner: *b"slurm-vipu\0\0", text: bytes }
    }
}

/// Puts a note into the object of which the calling crate is the root. The text begins with `slurm-vipu`, and ends with NUL.
#[macro_export]
macro_rules! version_note {
    ($text:expr) => {
        // SAFETY: the section holds nothing but notes, the static has the layout of one, and nothing writes to it.
        #[used]
        #[unsafe(link_section = ".note.slurm-vipu")]
        static VERSION_NOTE: $crate::version_note::VersionNote<{ $text.len() }> =
            $crate::version_note::VersionNote::new($text);
    };
}
