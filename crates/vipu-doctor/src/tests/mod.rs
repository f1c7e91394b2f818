//! A healthy host, and the same host broken in one way or in several.

mod broken;
mod elf;
mod hosts;
mod tree;
