//! The one connection to a controller: made when first needed, replaced when it hangs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tonic::transport::{Channel, Endpoint as Transport};

use crate::{BadEndpoint, Endpoint};

/// Notices a peer that vanished while the connection was idle, as behind a firewall that forgets.
/// Of TCP, not of HTTP/2: gRPC servers by default cut off clients that ping more often than every
/// five minutes. A server that hangs with its kernel alive is the deadline's business.
const TCP_KEEPALIVE: Duration = Duration::from_secs(30);

/// A shared connection.
pub(crate) struct Link {
    transport: Transport,
    current: Mutex<Option<Arc<Channel>>>,
}

impl Link {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, BadEndpoint> {
        let transport = Channel::builder(endpoint.uri()?)
            .connect_timeout(endpoint.timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(TCP_KEEPALIVE));
        Ok(Self { transport, current: Mutex::new(None) })
    }

    /// The connection to use now. It connects, and reconnects, by itself when it is used.
    pub(crate) fn channel(&self) -> Arc<Channel> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(current.get_or_insert_with(|| Arc::new(self.transport.connect_lazy())))
    }

    /// Lets the next call make a new connection instead of `hung`; calls under way keep theirs.
    pub(crate) fn replace(&self, hung: &Arc<Channel>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|channel| Arc::ptr_eq(channel, hung)) {
            *current = None;
        }
    }
}
