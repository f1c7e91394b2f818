//! Reads the document for a request.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::StatusCode;
use axum::response::Response;
use tokio::sync::Semaphore;
use tokio::{task, time};
use vipu_status::Status;

use crate::answer;

/// The time for a read, with the wait for reads of other requests. A directory on a network may hang.
const READ: Duration = Duration::from_secs(8);

/// The document, or the reason why there is none.
pub type Document = Result<Status, String>;

/// Finds and reads the document.
pub(crate) type Read = dyn Fn() -> Document + Send + Sync;

/// Reads the document, for one request at a time.
#[derive(Clone)]
pub(crate) struct Reader {
    read: Arc<Read>,
    turn: Arc<Semaphore>,
}

impl Reader {
    pub(crate) fn new(read: Arc<Read>) -> Self {
        Self { read, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Reads the document and makes an answer of it and of the Unix time, on a thread that may wait.
    ///
    /// If a read hangs, later ones do not begin, so that threads and memory are bounded.
    pub(crate) async fn answer(
        &self,
        make: impl FnOnce(Document, i64) -> Response + Clone + Send + 'static,
    ) -> Response {
        let own_make = make.clone();
        let read = async {
            let turn = self.turn.clone().acquire_owned().await;
            let read = self.read.clone();
            task::spawn_blocking(move || {
                let _turn = turn;
                own_make(read(), now())
            })
            .await
        };
        match time::timeout(READ, read).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => answer::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
            Err(_) => {
                make(Err(format!("reading it takes more than {} s: the disk hangs", READ.as_secs())), now())
            }
        }
    }
}

/// The Unix time in seconds.
fn now() -> i64 {
    let elapsed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX)
}
