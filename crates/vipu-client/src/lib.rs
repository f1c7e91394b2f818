//! Async client of the V-IPU controller's user API.
#![forbid(unsafe_code)]
