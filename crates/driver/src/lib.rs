//! Carries out what the ledger decides: controller calls, journal, IPUoF files.
#![forbid(unsafe_code)]
