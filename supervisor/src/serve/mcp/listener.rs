//! A listener that takes so many connections at once and no more.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// Connections at once; further ones wait in the host's queue. A client has two or three: one that listens, and one for each call.
const MOST_CONNECTIONS: usize = 256;

/// A connection on which nothing has gone out for so long is over: a head or a body that does not come to its end, a client that keeps its connection for later, one
/// that does not read. Otherwise whoever opens [`MOST_CONNECTIONS`] and says nothing shuts everybody else out. Streams that are in use are never silent for so long, see [`PING`].
pub(super) const SILENT: Duration = Duration::from_secs(30);
/// How often something goes out on a stream on which nothing happens.
pub(super) const PING: Duration = Duration::from_secs(10);

/// The listener.
#[derive(Debug)]
pub(super) struct Bounded {
    listener: TcpListener,
    room: Arc<Semaphore>,
    silent: Duration,
}

impl Bounded {
    /// `silent`: how long a connection may be without a byte that goes out.
    pub(super) fn new(listener: TcpListener, silent: Duration) -> Bounded {
        Bounded { listener, room: Arc::new(Semaphore::new(MOST_CONNECTIONS)), silent }
    }
}

impl Listener for Bounded {
    type Io = Held;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Held, SocketAddr) {
        // The semaphore is never closed; without a permit a connection would only not be counted.
        let room = Arc::clone(&self.room).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // A missing option costs a moment of speed.
        let _ = stream.set_nodelay(true);
        (Held { stream, silent: self.silent, ends: Box::pin(sleep(self.silent)), _room: room }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that takes up room while it is open.
#[derive(Debug)]
pub(super) struct Held {
    stream: TcpStream,
    silent: Duration,
    ends: Pin<Box<Sleep>>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Held {
    /// What is not ready has until the end of the silence.
    fn in_time<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_pending() && self.ends.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }

    fn written(&mut self, polled: Poll<io::Result<usize>>, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if matches!(polled, Poll::Ready(Ok(1..))) {
            let until = Instant::now() + self.silent;
            self.ends.as_mut().reset(until);
        }
        self.in_time(polled, context)
    }
}

impl AsyncRead for Held {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.in_time(polled, context)
    }
}

impl AsyncWrite for Held {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(polled, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, slices: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::timeout;

    use super::*;

    const SHORT: Duration = Duration::from_millis(600);

    /// A server with a page, and a stream on which something goes out every now and then.
    async fn serving() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let pings = || async {
            let pings = futures_util::stream::unfold((), |()| async {
                sleep(SHORT / 6).await;
                Some((Ok::<_, io::Error>(": \n\n"), ()))
            });
            Body::from_stream(pings)
        };
        let router = Router::new().route("/", get(|| async { "here" })).route("/stream", get(pings));
        tokio::spawn(async move { axum::serve(Bounded::new(listener, SHORT), router).await });
        address
    }

    async fn said(address: SocketAddr, words: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(words.as_bytes()).await.unwrap();
        stream
    }

    #[tokio::test]
    async fn who_says_nothing_whole_is_let_go_and_who_listens_is_not() {
        let address = serving().await;
        for words in [
            "",
            "GET / HTTP/1.1\r\nHost: ",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx",
            "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        ] {
            let mut stream = said(address, words).await;
            let mut got = Vec::new();
            // To its end, however it comes.
            let ended = timeout(10 * SHORT, stream.read_to_end(&mut got)).await;
            assert!(ended.is_ok(), "{words:?} is still there");
        }
        let mut stream = said(address, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let mut got = vec![0; 1024];
        let until = Instant::now() + 4 * SHORT;
        while Instant::now() < until {
            let read = timeout(2 * SHORT, stream.read(&mut got)).await.expect("something goes out");
            assert!(read.unwrap() > 0, "the stream was cut");
        }
    }

    #[tokio::test]
    async fn the_silent_do_not_shut_others_out() {
        let address = serving().await;
        let mut held = Vec::new();
        for _ in 0..MOST_CONNECTIONS + 20 {
            held.push(said(address, "GET / HTTP/1.1\r\n").await);
        }
        let mut stream = said(address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        let mut got = String::new();
        timeout(20 * SHORT, stream.read_to_string(&mut got)).await.expect("it is served in time").unwrap();
        assert!(got.ends_with("here"), "{got}");
    }
}
