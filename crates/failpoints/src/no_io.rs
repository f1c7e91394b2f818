//! Marks threads that hold a lock which slurmctld's scheduler needs. They must not wait for a disk or a
//! network.

use std::cell::Cell;

thread_local! {
    static HELD: Cell<u32> = const { Cell::new(0) };
}

pub(crate) fn enter() {
    HELD.set(HELD.get() + 1);
}

pub(crate) fn leave() {
    HELD.set(HELD.get() - 1);
}

/// Ends the process if this thread holds such a lock, so that no test can pass.
pub fn io(what: &str) {
    if is_forbidden() {
        // The hook of a panic may print, and to print may need this lock.
        eprintln!("I/O ({what}) while a lock is held that slurmctld's scheduler needs");
        std::process::abort();
    }
}

fn is_forbidden() -> bool {
    HELD.get() > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoIo;

    #[test]
    fn io_is_forbidden_while_a_lock_is_held_and_on_its_thread_only() {
        assert!(!is_forbidden());
        let outer = NoIo::new();
        let inner = NoIo::new();
        drop(outer);
        assert!(is_forbidden());
        assert!(!std::thread::spawn(is_forbidden).join().unwrap());
        drop(inner);
        assert!(!is_forbidden());
    }
}
