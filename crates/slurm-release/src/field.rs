//! A member of a struct: its place, and its kind as a type.

use std::marker::PhantomData;

/// The place of a member in its struct, and its kind.
pub struct Field<T> {
    offset: u16,
    kind: PhantomData<T>,
}

/// The kind of a `char *` member.
#[derive(Debug, PartialEq, Eq)]
pub enum Text {}

/// The kind of a `char **` member.
#[derive(Debug, PartialEq, Eq)]
pub enum Texts {}

/// The kind of any other pointer member.
#[derive(Debug, PartialEq, Eq)]
pub enum Ptr {}

impl<T> Field<T> {
    pub(crate) const fn at(offset: u16) -> Self {
        Self { offset, kind: PhantomData }
    }

    /// Bytes from the start of the struct.
    pub const fn offset(&self) -> usize {
        self.offset as usize
    }
}

// A derive would require `T: Clone` and `T: Copy`.
impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Field<T> {}
impl<T> PartialEq for Field<T> {
    fn eq(&self, other: &Self) -> bool {
        self.offset == other.offset
    }
}
impl<T> Eq for Field<T> {}
impl<T> std::fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "@{}", self.offset)
    }
}
