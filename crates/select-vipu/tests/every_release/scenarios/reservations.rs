//! slurmctld's reservations, as a job_test reads them.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use slurm_host::job_test::{RawTest, Test};
use slurm_host::reservations::Reservation;

use crate::cluster::list;
use crate::host::{Host, notes};
use crate::record::Record;

/// `RESV_MAGIC`
const MAGIC: u16 = 0x3b82;
/// `RESERVE_FLAG_TIME_FLOAT`
const TIME_FLOAT: u64 = 1 << 17;

/// Checks that the reservations are read from their places in this release, and that a record without its magic
/// ends the reading.
pub fn run(host: Host) {
    assert_eq!(read(host), [], "no list");
    host.set("resv_list", list(&[]));
    assert_eq!(read(host), [], "an empty list");

    let nodes = record(host, "nodes", null_mut(), (1_800_000_000, 1_800_003_600), 0);
    let night = record(host, "night", host.text("vipu:32,matlab:2"), (1_700_000_000, 1_700_003_600), 4);
    let soon = record(host, "soon", host.text("vipu_pod64:16"), (600, 1_700_007_200), TIME_FLOAT | 4);
    host.set("resv_list", list(&[nodes, night, soon].map(Record::address)));
    for _ in 0..2 {
        let [night, soon] = &read(host)[..] else { panic!("not two: {:?}", read(host)) };
        let expected = Reservation {
            name: "night".into(),
            licenses: "vipu:32,matlab:2".into(),
            start: 1_700_000_000,
            end: 1_700_003_600,
            flags: 4,
        };
        assert_eq!(*night, expected);
        assert!((&*soon.name, &*soon.licenses, soon.start) == ("soon", "vipu_pod64:16", 600), "{soon:?}");
        assert!(soon.is_floating() && !night.is_floating());
    }
    assert_eq!(errors(), Vec::<String>::new());

    soon.put("magic", 0_u16);
    is_told_once(host, "a record reads wrong");
}

/// Checks that a table without reservations is told.
pub fn run_unknown(host: Host) {
    is_told_once(host, "slurm-layout.conf lacks them");
}

fn is_told_once(host: Host, why: &str) {
    assert_eq!(read(host), []);
    assert_eq!(read(host), []);
    let told = errors();
    let [line] = &told[..] else { panic!("not one line: {told:?}") };
    assert!(line.contains(&format!("cannot read reservations: {why}")), "{line}");
}

fn errors() -> Vec<String> {
    notes().into_iter().filter(|note| note.starts_with("log 2: ")).collect()
}

fn read(host: Host) -> Vec<Reservation> {
    let nothing: *mut c_void = null_mut();
    let raw = RawTest {
        nodes: nothing,
        min_nodes: 1,
        candidates: nothing,
        preemptees: null_mut(),
        will_run: nothing,
    };
    // SAFETY: the arguments are not looked at, and the fake's locks are held.
    host.under_locks(|| unsafe { Test::from_callback(raw) }.unwrap().license_reservations())
}

fn record(host: Host, name: &str, licenses: *mut c_char, (start, end): (i64, i64), flags: u64) -> Record {
    let record = Record::new(host.release, "slurmctld_resv");
    record.put("magic", MAGIC);
    record.put("name", host.text(name));
    record.put("licenses", licenses);
    record.put("start_time", start);
    record.put("end_time", end);
    record.put("flags", flags);
    record
}
