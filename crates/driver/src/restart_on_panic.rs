//! Faults of this program: a task that panics is begun again, so that nothing is given up for one.

use std::fmt::Display;
use std::time::Duration;

use tokio::task::spawn_local;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;
use tracing::error;

/// The pause before that.
const AFTER_A_FAULT: Duration = Duration::from_secs(30);

/// Does `work`, from the beginning after each panic; `what` it is stands in the error line.
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
    async fn what_panics_is_begun_again_until_it_ends() {
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
