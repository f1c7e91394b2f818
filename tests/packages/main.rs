//! Packages for sites, in containers of one Debian suite. `cargo xtask dist --trial` makes the packages and runs these tests.
//!
//! `PACKAGES` names the folder with the packages, `EARLIER_PACKAGES` one with packages of the same objects under a lower
//! version, and `SUITE` the suite.

mod bad_circumstances;
mod debs;
mod host;
mod rpms;
