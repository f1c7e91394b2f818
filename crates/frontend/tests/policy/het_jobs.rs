//! Heterogeneous jobs: their components start together.

use crate::cluster::{ALL, Cluster};

/// From 24.11 on, backfill asks for no start of a component before the last one that it was told for the others.
#[test]
fn sched_het_components_start_earlier_than_told_before() {
    let cluster = Cluster::new("ApiHost=a", None);
    let components = [(); 2].map(|()| cluster.submit(":32", 1, &ALL));
    cluster.join(&components);
    let told_before = 3600;
    assert_eq!(components.map(|component| cluster.expected_after(&component, told_before)), [0, 0]);
}
