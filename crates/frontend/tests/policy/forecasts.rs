//! The starts in the status document.

use std::collections::BTreeMap;

use frontend::StatusComposer;
use vipu_status::Writer;

use crate::cluster::{ALL, Cluster, REMOVAL};
use crate::orders::NOW;

/// The host thread has not looked at any job.
#[test]
fn cli_status_forecasts_know_the_end_of_a_job_that_has_just_begun() {
    let cluster = Cluster::new("ApiHost=a", None);
    let [first, second] = [(); 2].map(|()| cluster.submit(":64", 1, &ALL));
    cluster.start(&first).unwrap();
    cluster.start(&second).unwrap_err();
    let status = StatusComposer::default().compose(&cluster.frontend, Writer::default(), BTreeMap::new());
    let end = NOW + first.limit;
    assert_eq!((status.partitions[0].ends, status.line[0].start), (Some(end), Some(end + REMOVAL)));
}
