//! The paths, and who answers them.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::{get, post};

use crate::answer::{self, Document, Read, Reader};
use crate::metrics::{self, Format};
use crate::numbers::Numbers;
use crate::query;

/// The size of the body of a request in bytes.
const MOST_BODY: usize = 4 << 10;

/// The page for people who look in with a browser.
const INDEX: &str = "<!DOCTYPE html><title>svipu exporter</title><h1>svipu exporter</h1><ul>\
    <li><a href=metrics>metrics</a><li><a href=stats>stats</a><li><a href=status>status</a>\
    <li><a href=healthz>healthz</a></ul>";

/// All paths.
pub(crate) fn all(read: Arc<Read>) -> Router {
    let on_document = |make: fn(Document, i64) -> Response| {
        get(move |State(reader): State<Reader>| async move { reader.answer(make).await })
    };
    Router::new()
        .route("/", get(async || Html(INDEX)))
        .route("/metrics", get(metrics))
        .route("/stats", on_document(stats))
        .route("/status", on_document(status))
        .route("/healthz", on_document(answer::health))
        .route("/query", post(ask))
        .fallback(async || {
            answer::error(StatusCode::NOT_FOUND, "there are /metrics, /stats, /query, /status and /healthz")
        })
        .method_not_allowed_fallback(async || {
            answer::error(StatusCode::METHOD_NOT_ALLOWED, "use POST for /query, and GET for other paths")
        })
        .layer(DefaultBodyLimit::max(MOST_BODY))
        .with_state(Reader::new(read))
}

async fn metrics(State(reader): State<Reader>, headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|types| types.to_str().ok());
    let format = Format::of(accepted.unwrap_or_default());
    let make = move |document: Document, now| match metrics::text(
        document.ok().map(|status| Numbers::of(&status, now)),
        format,
    ) {
        Ok(text) => ([(header::CONTENT_TYPE, format.media_type())], text).into_response(),
        Err(why) => answer::error(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
    };
    reader.answer(make).await
}

fn stats(document: Document, now: i64) -> Response {
    match document {
        Ok(status) => answer::json(StatusCode::OK, &Numbers::of(&status, now)),
        Err(why) => answer::error(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}

fn status(document: Document, _now: i64) -> Response {
    match document {
        Ok(status) => answer::json(StatusCode::OK, &status.without_owners()),
        Err(why) => answer::error(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}

async fn ask(State(reader): State<Reader>, request: Request) -> Response {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    // The server would wait for all bytes that the client announces.
    if length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > MOST_BODY as u64) {
        return answer::error(StatusCode::PAYLOAD_TOO_LARGE, "a question is shorter than 4 KiB");
    }
    let question = match Bytes::from_request(request, &()).await {
        Ok(body) => query::read(&body),
        Err(why) => return answer::error(why.status(), &why.body_text()),
    };
    match question {
        Ok(question) => reader.answer(move |document, now| query::answer(&question, document, now)).await,
        Err(why) => answer::error(StatusCode::BAD_REQUEST, &why),
    }
}
