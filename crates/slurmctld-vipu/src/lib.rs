//! vipu_slurmctld.so: what only the primary slurmctld needs; ledger, driver and gates wired together.
