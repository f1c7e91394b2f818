//! `GET /healthz`: whether the numbers are to be trusted.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use vipu_status::Status;
use vipu_status_reader::OLD;

use crate::answer;
use crate::document::Document;

/// The reason why a document is not to be trusted.
pub(crate) fn trouble(status: &Status, now: i64) -> Option<String> {
    let age = now.saturating_sub(status.written);
    if age > OLD {
        return Some(format!("the document is {age} s old: slurmctld may be down, or cannot write it"));
    }
    let ahead = age.saturating_neg();
    (ahead > OLD).then(|| format!("the document was written {ahead} s in the future: compare the clocks"))
}

pub(crate) fn answer(document: Document, now: i64) -> Response {
    #[derive(Serialize)]
    struct Healthy {
        status: &'static str,
        age: i64,
    }
    let status = match document {
        Ok(status) => status,
        Err(why) => return answer::error(StatusCode::SERVICE_UNAVAILABLE, &why),
    };
    match trouble(&status, now) {
        None => answer::json(StatusCode::OK, &Healthy { status: "ok", age: now - status.written }),
        Some(why) => answer::error(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}
