//! The thread that writes the status document. It sleeps until something in the document has changed.

use std::sync::{Arc, OnceLock};
use std::thread::Thread;

/// The thread, once it is known.
#[derive(Clone, Default)]
pub(crate) struct StatusWriter(Arc<OnceLock<Thread>>);

impl StatusWriter {
    pub(crate) fn set(&self, thread: Thread) {
        // A second thread would write the same document.
        let _ = self.0.set(thread);
    }

    /// Wakes the thread. Never waits.
    pub(crate) fn wake(&self) {
        if let Some(thread) = self.0.get() {
            thread.unpark();
        }
    }
}
