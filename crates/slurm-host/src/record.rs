//! Slurm's data: structs, reached through the offsets of the running release, and lists and texts.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use slurm_release::{Field, Ptr, Text, Texts};

/// A Slurm struct that lives at least as long as `'lock`.
#[derive(Clone, Copy)]
pub(crate) struct Record<'lock> {
    at: NonNull<u8>,
    lock: PhantomData<&'lock ()>,
}

impl<'lock> Record<'lock> {
    /// # Safety
    /// `at` points to a struct whose members are where the fields used on it say. The struct stays there,
    /// unchanged by other threads, for `'lock`.
    pub(crate) unsafe fn new(at: NonNull<c_void>) -> Self {
        Self { at: at.cast(), lock: PhantomData }
    }

    pub(crate) fn address(self) -> *mut c_void {
        self.at.as_ptr().cast()
    }

    pub(crate) fn read<T: Scalar>(self, field: Field<T>) -> T {
        // SAFETY: the member is inside the struct (promise of `new`), of kind T by the table, and
        // aligned, as C compilers align members; the lock of `new` keeps writers away.
        unsafe { self.member(field).cast::<T>().read() }
    }

    /// Whether a member is not 0.
    pub(crate) fn is_set<T: Scalar + Default + PartialEq>(self, field: Field<T>) -> bool {
        self.read(field) != T::default()
    }

    /// Writes a member. The caller of the public function holds the write lock, see `JobMut`.
    pub(crate) fn write<T: Scalar>(self, field: Field<T>, value: T) {
        // SAFETY: inside the struct (promise of `new`); only views that stand for a write lock call this.
        unsafe { self.member(field).cast::<T>().write(value) };
    }

    pub(crate) fn pointer(self, field: Field<Ptr>) -> *mut c_void {
        // SAFETY: inside the struct, under its lock (promise of `new`); the member is a pointer.
        unsafe { self.member(field).cast::<*mut c_void>().read() }
    }

    /// Returns the pointer in a text member without following it.
    pub(crate) fn text_pointer(self, field: Field<Text>) -> *const c_void {
        // SAFETY: inside the struct, under its lock (promise of `new`); the member is a pointer.
        unsafe { self.member(field).cast::<*const c_void>().read() }
    }

    /// Returns the pointer to a list of texts without following it.
    pub(crate) fn texts_pointer(self, field: Field<Texts>) -> *const c_void {
        // SAFETY: inside the struct, under its lock (promise of `new`); the member is a pointer.
        unsafe { self.member(field).cast::<*const c_void>().read() }
    }

    /// Returns a C bool as its byte.
    pub(crate) fn byte(self, field: Field<bool>) -> u8 {
        // SAFETY: inside the struct, under its lock (promise of `new`); any byte is a u8.
        unsafe { self.member(field).cast::<u8>().read() }
    }

    pub(crate) fn text(self, field: Field<Text>) -> Option<String> {
        // SAFETY: inside the struct; Slurm's char pointers are NULL or NUL-terminated and change only under
        // the lock (promise of `new`).
        unsafe { text_of_c(self.member(field).cast::<*const c_char>().read()) }
    }

    /// Returns the bytes of a text member, without copying them.
    pub(crate) fn bytes(self, field: Field<Text>) -> Option<&'lock [u8]> {
        // SAFETY: NULL or NUL-terminated; the string stays until the lock of `'lock` is released.
        unsafe {
            let text = self.member(field).cast::<*const c_char>().read();
            (!text.is_null()).then(|| CStr::from_ptr(text).to_bytes())
        }
    }

    /// Whether a text member contains this word.
    pub(crate) fn mentions(self, field: Field<Text>, word: &[u8]) -> bool {
        self.bytes(field).is_some_and(|text| text.windows(word.len()).any(|part| part == word))
    }

    /// Returns the texts of a list that begin with `beginning`. The member `count` holds the length of the
    /// list.
    pub(crate) fn texts(self, field: Field<Texts>, count: Field<u32>, beginning: &str) -> Vec<String> {
        let first = self.texts_pointer(field).cast::<*const c_char>();
        let count = if first.is_null() { 0 } else { self.read(count) as usize };
        // SAFETY: the list has `count` elements, and changes only under the lock (promise of `new`).
        let texts = (0..count).map(|i| unsafe { first.add(i).read() }).filter(|text| !text.is_null());
        let is_wanted = |text: &*const c_char| {
            // SAFETY: not NULL, NUL-terminated, changed only under the lock (promise of `new`).
            unsafe { CStr::from_ptr(*text) }.to_bytes().starts_with(beginning.as_bytes())
        };
        // SAFETY: not NULL, NUL-terminated, changed only under the lock (promise of `new`).
        texts.filter(is_wanted).filter_map(|text| unsafe { text_of_c(text) }).collect()
    }

    /// Returns the struct to which a pointer member points.
    ///
    /// # Safety
    /// The struct at the pointer is covered by the same lock and laid out as the fields used on it say.
    pub(crate) unsafe fn follow(self, field: Field<Ptr>) -> Option<Record<'lock>> {
        // SAFETY: passed on to the caller.
        NonNull::new(self.pointer(field)).map(|at| unsafe { Record::new(at) })
    }

    /// Returns the address of a member, for Slurm functions that change it.
    pub(crate) fn member<T>(self, field: Field<T>) -> *mut c_void {
        // SAFETY: the offset is inside the struct (promise of `new`).
        unsafe { self.at.as_ptr().add(field.offset()) }.cast()
    }
}

/// Plain values for which any bits are valid.
pub(crate) trait Scalar: Copy {}
impl Scalar for u8 {}
impl Scalar for u16 {}
impl Scalar for u32 {}
impl Scalar for u64 {}
impl Scalar for i64 {}

/// Declares methods of a view that each read one member of its struct: the method's name, the function of
/// [`Record`] that reads, the member, and the type of the result.
macro_rules! members {
    ($receiver:ty, $struct:ident, $view:ty:
     $($(#[$doc:meta])* $name:ident: $read:ident $member:ident -> $value:ty;)*) => {
        impl $view {
            $($(#[$doc])*
            #[must_use]
            pub fn $name(self: $receiver) -> $value {
                self.record.$read(self.layout().$struct.$member)
            })*
        }
    };
}

pub(crate) use members;

/// The first word of a list of Slurm, the same in every release.
pub(crate) const LIST_MAGIC: u32 = 0xDEAD_BEEF;

/// `int list_for_each(List, ListForF, void *)` of every release (SAFETY.md, "Signatures").
pub(crate) type ForEach = unsafe extern "C" fn(
    *mut c_void,
    unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
    *mut c_void,
) -> c_int;

/// Returns the items of a list; `None` if there is no list, or if it cannot be walked.
///
/// # Safety
/// `list` is NULL or a list of Slurm that no other thread changes meanwhile.
pub(crate) unsafe fn list_items(for_each: ForEach, list: *mut c_void) -> Option<Vec<NonNull<c_void>>> {
    unsafe extern "C" fn note(item: *mut c_void, items: *mut c_void) -> c_int {
        // SAFETY: `items` is the vector below, which only this call uses.
        unsafe { &mut *items.cast::<Vec<NonNull<c_void>>>() }.extend(NonNull::new(item));
        0
    }
    let mut items = Vec::new();
    // SAFETY: a list that does not change (caller); `items` outlives the call.
    let walked = |items| unsafe { for_each(list, note, items) } >= 0;
    (!list.is_null() && walked((&raw mut items).cast())).then_some(items)
}

/// Converts Rust text to a C string. A NUL byte inside ends the string early instead of failing.
pub(crate) fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Returns the text of a C string, or `None` for NULL. Bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `text` is NULL or points to a NUL-terminated string that does not change during the call.
pub(crate) unsafe fn text_of_c(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not NULL; NUL-terminated and unchanged by the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
