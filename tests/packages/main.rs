//! Packages and images for sites, in containers of one Debian suite. `cargo xtask dist --trial` makes them and runs these
//! tests.
//!
//! `PACKAGES` names the folder with the packages, `EARLIER_PACKAGES` one with packages of the same objects under a lower
//! version, `SUITE` the suite, and `IMAGES` the tag of the images.

mod bad_circumstances;
mod debs;
mod host;
mod images;
mod rpms;
mod services;
