//! The addresses of controllers' host names.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec::IntoIter;

use hyper_util::client::legacy::connect::dns::Name;
use tonic::codegen::Service;

use crate::BoundedThreads;

/// Asks the system for addresses. The connector's own resolver takes up a thread more for each try, as long as a name
/// server does not answer.
#[derive(Clone)]
pub(crate) struct Names(pub(crate) BoundedThreads);

impl Service<Name> for Names {
    type Response = IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let threads = self.0.clone();
        // The connector puts in the port.
        let look = move || (name.as_str(), 0).to_socket_addrs();
        Box::pin(async move { threads.run(look).await.map_err(io::Error::other).flatten() })
    }
}
