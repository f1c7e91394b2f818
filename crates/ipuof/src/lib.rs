//! The IPUoF config file and environment: render, write safely, remove.
#![forbid(unsafe_code)]
