//! Who holds a lock that slurmctld's scheduler needs, and so must not wait for a disk or a network.

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

/// Ends the process, so that no test passes over it, if this thread is under such a lock.
pub fn io(what: &str) {
    if is_forbidden() {
        // What is printed by a panic's hook may take the very lock.
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
