//! A faithful V-IPU controller to test against: library and mock-vipu-server.
#![forbid(unsafe_code)]
