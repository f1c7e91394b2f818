//! A listener that can be shut, which refuses connections, and connections that can be cut.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

const BACKLOG: u32 = 1024;

#[derive(Debug)]
pub(crate) struct Listener {
    wanted: watch::Sender<bool>,
    open: watch::Receiver<bool>,
    garbles: Arc<AtomicBool>,
}

impl Listener {
    pub(crate) fn garble(&self, garbles: bool) {
        self.garbles.store(garbles, Ordering::Relaxed);
    }

    /// Opens or shuts the listener. Returns once that is done, or the server has ended.
    pub(crate) async fn set_open(&self, open: bool) {
        self.wanted.send_replace(open);
        let mut state = self.open.clone();
        if state.wait_for(|now| *now == open).await.is_err() {
            tracing::debug!("the server has ended");
        }
    }
}

/// Listens at `address` until `stop`. The receiver yields the connections.
pub(crate) fn open(
    address: SocketAddr,
    stop: CancellationToken,
) -> io::Result<(SocketAddr, Listener, mpsc::Receiver<io::Result<Connection>>)> {
    let listener = bound(address)?.listen(BACKLOG)?;
    let address = listener.local_addr()?;
    let (wanted, wanted_seen) = watch::channel(true);
    let (open, open_seen) = watch::channel(true);
    let (connections, connections_out) = mpsc::channel(16);
    let garbles = Arc::<AtomicBool>::default();
    let acceptor =
        Acceptor { address, wanted: wanted_seen, open, connections, garbles: Arc::clone(&garbles) };
    tokio::spawn(async move {
        let ended = stop.clone().run_until_cancelled_owned(acceptor.run(listener, &stop)).await;
        if let Some(Err(error)) = ended {
            tracing::error!(%address, %error, "cannot listen any more");
        }
    });
    Ok((address, Listener { wanted, open: open_seen, garbles }, connections_out))
}

fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

struct Acceptor {
    address: SocketAddr,
    wanted: watch::Receiver<bool>,
    open: watch::Sender<bool>,
    connections: mpsc::Sender<io::Result<Connection>>,
    garbles: Arc<AtomicBool>,
}

impl Acceptor {
    async fn run(mut self, mut listener: TcpListener, stop: &CancellationToken) -> io::Result<()> {
        loop {
            let cut = stop.child_token();
            self.accept(&listener, &cut).await;
            cut.cancel();
            drop(listener);
            // Bound without listening, the socket keeps the port and refuses connections.
            let socket = bound(self.address)?;
            self.open.send_replace(false);
            until(&mut self.wanted, true).await;
            listener = socket.listen(BACKLOG)?;
            self.open.send_replace(true);
        }
    }

    /// Accepts connections until the listener has to shut or the receiver of connections is gone.
    async fn accept(&mut self, listener: &TcpListener, cut: &CancellationToken) {
        loop {
            tokio::select! {
                () = until(&mut self.wanted, false) => return,
                accepted = listener.accept() => {
                    let garbles = Arc::clone(&self.garbles);
                    let connection = accepted.map(|(stream, _)| Connection::new(stream, cut.child_token(), garbles));
                    if self.connections.send(connection).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// Waits until the wanted state is `open`; for ever, if the sender is gone.
async fn until(wanted: &mut watch::Receiver<bool>, open: bool) {
    if wanted.wait_for(|now| *now == open).await.is_err() {
        std::future::pending().await
    }
}

/// A connection that can be cut.
pub(crate) struct Connection {
    stream: TcpStream,
    /// Cuts the connection when it is cancelled. Bytes that were not sent yet are lost.
    cut: CancellationToken,
    is_cut: Pin<Box<WaitForCancellationFutureOwned>>,
    garbles: Arc<AtomicBool>,
}

impl Connection {
    fn new(stream: TcpStream, cut: CancellationToken, garbles: Arc<AtomicBool>) -> Self {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "answers on this connection may be delayed");
        }
        Self { stream, is_cut: Box::pin(cut.clone().cancelled_owned()), cut, garbles }
    }

    fn poll_cut(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.is_cut.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionReset.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = CancellationToken;
    fn connect_info(&self) -> CancellationToken {
        self.cut.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_cut(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_cut(context)?;
        if !self.garbles.load(Ordering::Relaxed) {
            return Pin::new(&mut self.stream).poll_write(context, bytes);
        }
        let noise: Vec<_> = bytes.iter().map(|byte| !byte).collect();
        Pin::new(&mut self.stream).poll_write(context, &noise)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
