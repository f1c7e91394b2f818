//! Heterogeneous jobs: their components start together.

use crate::cluster::{ALL, Cluster, Job, REMOVAL};

/// The starts that backfill has on record for the components of a heterogeneous job (`het_job_map_t` in backfill.c, 24.11
/// and later).
#[derive(Default)]
struct OnRecord {
    starts: Vec<i64>,
    of_all: i64,
}

impl OnRecord {
    /// One cycle of backfill. It asks for no start of a component before those of the others.
    fn cycle(&mut self, cluster: &Cluster, components: &[Job]) {
        self.starts.resize(components.len(), 0);
        for (n, component) in components.iter().enumerate() {
            let others = self.starts.iter().enumerate().filter(|(other, _)| *other != n);
            let not_before = others.map(|(_, start)| *start).fold(self.of_all, i64::max);
            self.starts[n] = cluster.expected_after(component, not_before).max(not_before);
        }
        self.of_all = self.starts.iter().copied().fold(self.of_all, i64::max);
    }
}

/// The seconds until the start of all components after two cycles of backfill. Slurm forgets what is on record before each
/// second cycle.
fn expected(cluster: &Cluster, components: &[Job]) -> i64 {
    let mut on_record = OnRecord::default();
    on_record.cycle(cluster, components);
    on_record.cycle(cluster, components);
    on_record.of_all
}

#[test]
fn sched_het_components_start_earlier_when_others_end_earlier() {
    let cluster = Cluster::new("ApiHost=a", None);
    let first = cluster.submit(":8", 1, &ALL);
    cluster.start(&first).unwrap();
    let components = [(); 2].map(|()| cluster.submit(":32", 1, &ALL));
    cluster.join(&components);
    // The first look at a component does not know the others yet.
    expected(&cluster, &components);
    assert_eq!(expected(&cluster, &components), first.limit + REMOVAL);
    cluster.end(&first);
    expected(&cluster, &components);
    assert_eq!(expected(&cluster, &components), 0);
}
