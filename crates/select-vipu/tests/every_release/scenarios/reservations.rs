//! slurmctld's reservations, as the host thread reads them.

use std::ffi::c_char;
use std::ptr::null_mut;

use slurm_host::reservations::Reservation;

use crate::cluster::list;
use crate::host::{Host, errors, on_host_thread};
use crate::record::Record;

/// `RESV_MAGIC`
const MAGIC: u16 = 0x3b82;

/// Checks that the reservations are read from their places in this release, and that a record without its magic
/// ends the reading.
pub fn run(host: Host) {
    assert_eq!(read(), [], "no list");
    host.set("resv_list", list(&[]));
    assert_eq!(read(), [], "an empty list");

    let nodes = record(host, null_mut(), (1_800_000_000, 1_800_003_600));
    let night = record(host, host.text("vipu:32,matlab:2"), (1_700_000_000, 1_700_003_600));
    let soon = record(host, host.text("vipu_pod64:16"), (600, 1_700_007_200));
    host.set("resv_list", list(&[nodes, night, soon].map(Record::address)));
    let reservation = |licenses: &str, start, end| Reservation { licenses: licenses.into(), start, end };
    let expected = [
        reservation("vipu:32,matlab:2", 1_700_000_000, 1_700_003_600),
        reservation("vipu_pod64:16", 600, 1_700_007_200),
    ];
    assert_eq!([read(), read()], [&expected, &expected]);
    assert_eq!(errors(), Vec::<String>::new());

    soon.put("magic", 0_u16);
    is_told_once("a record reads wrong");
}

/// Checks that a table without reservations is told.
pub fn run_unknown() {
    is_told_once("slurm-layout.conf lacks them");
}

fn is_told_once(why: &str) {
    assert_eq!(read(), []);
    assert_eq!(read(), []);
    let told = errors();
    let [line] = &told[..] else { panic!("not one line: {told:?}") };
    assert!(line.contains(&format!("cannot read reservations: {why}")), "{line}");
}

fn read() -> Vec<Reservation> {
    on_host_thread(|slurm| slurm.licenses().1)
}

fn record(host: Host, licenses: *mut c_char, (start, end): (i64, i64)) -> Record {
    let record = Record::new(host.release, "slurmctld_resv");
    record.put("magic", MAGIC);
    record.put("licenses", licenses);
    record.put("start_time", start);
    record.put("end_time", end);
    record
}
