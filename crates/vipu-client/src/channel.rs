//! The one connection to a controller. It is made when first needed, and replaced when it hangs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;
use tonic::codegen::http::uri::{Scheme, Uri};
use tonic::transport::{Channel, Endpoint as Transport};
use vipu_types::Tls;

use crate::names::Names;
use crate::tls::Connector;
use crate::{BadEndpoint, BoundedThreads, Endpoint};

/// The TCP keepalive. It notices a peer that vanished while the connection was idle, for example behind a
/// firewall that forgets. HTTP/2 pings are not used, because gRPC servers by default cut off clients that
/// ping more often than every five minutes. The deadline handles a server that hangs with its kernel alive.
const TCP_KEEPALIVE: Duration = Duration::from_secs(30);

/// A shared connection.
pub(crate) struct Link {
    transport: Transport,
    host: String,
    tls: Option<Tls>,
    threads: BoundedThreads,
    connect_timeout: Duration,
    current: Mutex<Option<Arc<Channel>>>,
}

impl Link {
    /// The link to a controller, whose name and certificates are looked up on these threads.
    pub(crate) fn new(endpoint: &Endpoint, threads: BoundedThreads) -> Result<Self, BadEndpoint> {
        let uri = endpoint.uri()?;
        let mut transport = Channel::builder(uri.clone()).connect_timeout(endpoint.timeout);
        if endpoint.tls.is_some() {
            transport = transport.origin(over_tls(uri));
        }
        let (host, tls) = (endpoint.host.clone(), endpoint.tls.clone());
        Ok(Self {
            transport,
            host,
            tls,
            threads,
            connect_timeout: endpoint.timeout,
            current: Mutex::new(None),
        })
    }

    /// Returns the connection to use now. The connection connects, and reconnects, by itself when it is used.
    pub(crate) fn channel(&self) -> Arc<Channel> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(current.get_or_insert_with(|| Arc::new(self.connection())))
    }

    fn connection(&self) -> Channel {
        let mut tcp = HttpConnector::new_with_resolver(Names(self.threads.clone()));
        // With several addresses, each gets a part of the time.
        tcp.set_connect_timeout(Some(self.connect_timeout));
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(TCP_KEEPALIVE));
        match &self.tls {
            None => self.transport.connect_with_connector_lazy(tcp),
            Some(tls) => {
                let tls = Connector::new(tcp, tls, &self.host, self.threads.clone());
                self.transport.connect_with_connector_lazy(tls)
            }
        }
    }

    /// Makes the next call open a new connection instead of `hung`. Calls under way keep their connection.
    pub(crate) fn replace(&self, hung: &Arc<Channel>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|channel| Arc::ptr_eq(channel, hung)) {
            *current = None;
        }
    }
}

/// Returns the URI that requests give as their destination. The transport itself connects to the plain URI,
/// because TLS is made beneath it.
fn over_tls(uri: Uri) -> Uri {
    let mut parts = uri.into_parts();
    parts.scheme = Some(Scheme::HTTPS);
    Uri::from_parts(parts).unwrap_or_default()
}
