//! The table of fuzz targets.

#[allow(dead_code, reason = "tests of the front end use the rest")]
#[path = "../../frontend/tests/common/fake_slurm.rs"]
mod fake_slurm;
#[path = "../../frontend/tests/common/fake_test.rs"]
mod fake_test;
mod jobs;
#[allow(dead_code, reason = "tests of the front end use the rest")]
#[path = "../../frontend/tests/common/orders.rs"]
mod orders;
mod records;
mod text;
mod wire;

use crate::Target;

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "admin", check: text::admin, seeds: text::admin_seeds },
    Target { name: "conf", check: text::conf, seeds: text::conf_seeds },
    Target { name: "gres", check: text::gres, seeds: text::gres_seeds },
    Target { name: "journal", check: text::journal, seeds: text::journal_seeds },
    Target { name: "table", check: text::table, seeds: text::table_seeds },
    Target { name: "wire", check: wire::replies, seeds: wire::seeds },
    Target { name: "ipuof", check: wire::ipuof, seeds: wire::ipuof_seeds },
    Target { name: "jobs", check: jobs::jobs, seeds: Vec::new },
];
