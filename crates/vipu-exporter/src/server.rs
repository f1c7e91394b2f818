//! Serves HTTP/1 to clients that may be slow or hostile.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time;

/// The connections at a time. Further ones wait in the queue of the kernel.
const MOST_CONNECTIONS: usize = 32;

/// The time in which a client has to send the head of its request.
const HEAD: Duration = Duration::from_secs(5);

/// The time of a connection, in which a client has to send its request and to read the answer.
const CONNECTION: Duration = Duration::from_secs(20);

/// The size of the head of a request in bytes.
const MOST_HEAD: usize = 16 << 10;

/// The pause after a failed accept. The process may have too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves for ever.
pub(crate) async fn serve(listener: TcpListener, routes: Router) -> Infallible {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let place = places.clone().acquire_owned().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let connection = connection(stream, routes.clone());
                tokio::spawn(async move {
                    // A client that is too slow loses its connection.
                    let _ = time::timeout(CONNECTION, connection).await;
                    drop(place);
                });
            }
            Err(_) => time::sleep(PAUSE).await,
        }
    }
}

/// Serves one request. A connection for several would keep its place while its client is idle.
async fn connection(stream: TcpStream, routes: Router) {
    let mut server = http1::Builder::new();
    server.keep_alive(false).max_buf_size(MOST_HEAD).timer(TokioTimer::new()).header_read_timeout(HEAD);
    // A client that goes away, or speaks no HTTP, is its own concern.
    let _ = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes)).await;
}
