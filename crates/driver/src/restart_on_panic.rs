//! The restart of tasks after a fault of this program. A task that panics begins again, so that none is given
//! up.

use std::fmt::Display;
use std::time::Duration;

use tokio::task::spawn_local;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;
use tracing::error;

/// The pause before a restart.
const AFTER_A_FAULT: Duration = Duration::from_secs(30);

/// Does `work`, and begins again after each panic. The error line names `what`.
pub(crate) async fn restarted_on_panic<F>(what: impl Display, mut work: impl FnMut() -> F)
where
    F: Future<Output = ()> + 'static,
{
    while let Err(broken) = AbortOnDropHandle::new(spawn_local(work())).await {
        error!("{what}: internal error, please report: {broken}");
        sleep(AFTER_A_FAULT).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use tokio::task::LocalSet;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_is_restarted_until_it_ends() {
        let tries = Rc::new(Cell::new(0));
        let work = {
            let tries = Rc::clone(&tries);
            move || {
                let tries = Rc::clone(&tries);
                async move {
                    tries.update(|count| count + 1);
                    assert_eq!(tries.get(), 3, "a fault");
                }
            }
        };
        LocalSet::new().run_until(restarted_on_panic("it", work)).await;
        assert_eq!(tries.get(), 3);
    }
}
