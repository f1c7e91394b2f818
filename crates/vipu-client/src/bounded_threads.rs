//! Work that may hang: on a disk, on a name server. It runs on the threads of the runtime, of which there are 512.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

/// A share of the runtime's threads. Work that hangs takes up these and no others, also after its caller has given up.
#[derive(Clone, Debug)]
pub struct BoundedThreads(Arc<Semaphore>);

impl BoundedThreads {
    /// A share of this number of threads.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }

    /// Runs `work` on a thread where it keeps no other task from running. Waits until one of the share is free.
    ///
    /// # Errors
    /// If `work` panics, or the runtime ends.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        // Nobody closes the semaphore.
        let permit = Arc::clone(&self.0).acquire_owned().await.ok();
        let work = move || {
            let _permit = permit;
            work()
        };
        spawn_blocking(work).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn fault_work_that_hangs_leaves_threads_to_others() {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(4).build();
        let runtime = runtime.unwrap();
        let (end, hanging) = channel::<()>();
        let hanging = Arc::new(std::sync::Mutex::new(hanging));
        let (hung, others) = (BoundedThreads::new(3), BoundedThreads::new(3));
        runtime.block_on(async {
            for _ in 0..100 {
                let hanging = Arc::clone(&hanging);
                // Its caller gives up.
                let work = hung.run(move || hanging.lock().unwrap().recv().is_err());
                timeout(Duration::from_millis(1), work).await.unwrap_err();
            }
            assert_eq!(others.run(|| 7).await.unwrap(), 7);
            drop(end);
            hung.run(|| ()).await.unwrap();
        });
    }
}
