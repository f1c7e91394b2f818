//! End-to-end tests live in `src/main.rs`.
