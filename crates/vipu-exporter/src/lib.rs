//! Serves the numbers of the status document over HTTP, for Prometheus and others.
//!
//! Each request reads the document anew. Answers name no job, no user and no partition of a job.
//!
//! | path | answer |
//! |---|---|
//! | `GET /` | a page with links |
//! | `GET /metrics` | all numbers in the text format of OpenMetrics, or the older one |
//! | `GET /stats` | the numbers by model, as JSON |
//! | `POST /query` | whether partitions of a size fit now |
//! | `GET /status` | the document without the owners of jobs |
//! | `GET /healthz` | 200 if the document is readable and not old, else 503 with the reason |
#![forbid(unsafe_code)]

mod answer;
mod metrics;
mod numbers;
mod query;
mod routes;
mod server;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;

pub use answer::Document;

/// Serves until the process ends. `read` is called for each request, and may have no document yet. `ready` gets the
/// address as soon as clients can connect.
///
/// # Errors
/// The address cannot be listened on.
pub fn run(
    listen: SocketAddr,
    read: impl Fn() -> Document + Send + Sync + 'static,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<Infallible> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await?;
        ready(listener.local_addr()?);
        Ok(server::serve(listener, routes::all(Arc::new(read))).await)
    })
}

#[cfg(test)]
mod tests;
