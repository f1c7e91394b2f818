//! Makes answers of the document: reads it for a request, and judges whether it is to be trusted (`GET /healthz`).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::{task, time};
use vipu_status::{OLD, Status};
use vipu_types::{Words, words};

/// An answer in JSON.
pub(crate) fn json(code: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => (code, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(why) => (StatusCode::INTERNAL_SERVER_ERROR, why.to_string()).into_response(),
    }
}

/// The reason why there is no other answer.
pub(crate) fn error(code: StatusCode, why: &str) -> Response {
    #[derive(Serialize)]
    struct Error<'a> {
        error: &'a str,
    }
    json(code, &Error { error: why })
}

/// The time for a read, with the wait for reads of other requests. A directory on a network may hang.
const READ: Duration = Duration::from_secs(8);

/// The document, or the reason why there is none.
pub type Document = Result<Status, Words>;

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
            Ok(Err(why)) => error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
            Err(_) => {
                make(Err(words!("reading it takes more than {} s: the disk hangs", READ.as_secs())), now())
            }
        }
    }
}

/// The Unix time in seconds.
fn now() -> i64 {
    let elapsed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX)
}

/// The reason why a document is not to be trusted.
pub(crate) fn trouble(status: &Status, now: i64) -> Option<String> {
    let age = now.saturating_sub(status.written);
    if age > OLD {
        return Some(format!("the document is {age} s old: slurmctld may be down, or cannot write it"));
    }
    let ahead = age.saturating_neg();
    (ahead > OLD).then(|| format!("the document was written {ahead} s in the future: compare the clocks"))
}

pub(crate) fn health(document: Document, now: i64) -> Response {
    #[derive(Serialize)]
    struct Healthy {
        status: &'static str,
        age: i64,
    }
    let status = match document {
        Ok(status) => status,
        Err(why) => return error(StatusCode::SERVICE_UNAVAILABLE, &why),
    };
    match trouble(&status, now) {
        None => json(StatusCode::OK, &Healthy { status: "ok", age: now - status.written }),
        Some(why) => error(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}
